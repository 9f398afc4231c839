{{- define "tranche.securityContext" -}}
{{- $facts := include "tranche.facts" . | fromYaml -}}
{{- if .Values.securityContext -}}
{{- toYaml .Values.securityContext -}}
{{- else if or .Values.privileged .Values.compatWithCPUManager $facts.mpsDir -}}
privileged: true
readOnlyRootFilesystem: true
runAsUser: 0
{{- else if $facts.mig -}}
capabilities:
  drop: [ALL]
  add: [SYS_ADMIN]
readOnlyRootFilesystem: true
runAsUser: 0
seccompProfile:
  type: RuntimeDefault
{{- else -}}
allowPrivilegeEscalation: false
capabilities:
  drop: [ALL]
readOnlyRootFilesystem: true
runAsUser: 0
seccompProfile:
  type: RuntimeDefault
{{- end -}}
{{- end -}}

{{- define "tranche.volumeMounts" -}}
{{- $facts := include "tranche.facts" . | fromYaml -}}
- name: device-plugins
  mountPath: {{ $facts.kubeletFolder }}
- name: pod-resources
  mountPath: {{ $facts.podResourcesFolder }}
  readOnly: true
{{- with $facts.mpsDir }}
- name: mps
  mountPath: {{ . }}
{{- /* The tmpfs that daemon and containers share is mounted in it. */}}
{{- if $facts.mpsSharedMemory }}
  mountPropagation: Bidirectional
{{- end }}
{{- end }}
{{- with $facts.nestedDir }}
- name: nested
  mountPath: {{ . }}
{{- end }}
{{- if $facts.hostGrants }}
- name: host-grants
  mountPath: {{ $facts.hostGrants }}
  readOnly: true
- name: gpu-env
  mountPath: {{ $facts.gpuEnv }}
  readOnly: true
{{- end }}
{{- /* Where NVIDIA's chart has it. */}}
{{- if $facts.mpsRoot }}
- name: mps-root
  mountPath: /mps
  readOnly: true
{{- end }}
{{- /* What is above the pipe folder: that itself may come later, and may be a link. */}}
{{- if $facts.mpsAbovePipe }}
- name: mps-outside
  mountPath: /mps-outside
  readOnly: true
{{- end }}
{{- if $facts.cdi }}
- name: cdi
  mountPath: {{ $facts.cdiDir }}
{{- end }}
{{- with $facts.driverRoot }}
- name: driver-root
  mountPath: {{ $facts.driverRootPlace }}
  readOnly: true
{{- /* A driver in a container may be mounted there after we have started. */}}
{{- if ne . "/" }}
  mountPropagation: HostToContainer
{{- end }}
{{- end }}
{{- if .Values.privileged }}
- name: dev
  mountPath: /dev
{{- end }}
{{- with $facts.hostPath }}
- name: driver-folder
  mountPath: {{ . }}
  readOnly: true
{{- end }}
{{- with .Values.stateDir }}
- name: state
  mountPath: {{ . }}
{{- end }}
{{- /* The folder, never a single file of it: only so are changes seen. */}}
{{- if include "tranche.configMapName" . }}
- name: config
  mountPath: {{ include "tranche.configFolder" . }}
  readOnly: true
{{- end }}
{{- if eq (include "tranche.features" . | fromYaml).labels "file" }}
- name: features
  mountPath: {{ include "tranche.featuresFile" . | dir }}
{{- end }}
{{- with .Values.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "tranche.volumes" -}}
{{- $facts := include "tranche.facts" . | fromYaml -}}
- name: device-plugins
  hostPath:
    path: {{ .Values.kubeletRootDir | trimSuffix "/" }}/device-plugins
    type: Directory
- name: pod-resources
  hostPath:
    path: {{ .Values.kubeletRootDir | trimSuffix "/" }}/pod-resources
    type: DirectoryOrCreate
{{- with $facts.mpsDir }}
- name: mps
  hostPath:
    path: {{ . }}
    type: DirectoryOrCreate
{{- end }}
{{- with $facts.nestedDir }}
- name: nested
  hostPath:
    path: {{ . }}
    type: DirectoryOrCreate
{{- end }}
{{- /* Made where they are missing, so that the agent can wait for what comes. */}}
{{- if $facts.hostGrants }}
- name: host-grants
  hostPath:
    path: {{ $facts.hostGrants }}
    type: DirectoryOrCreate
- name: gpu-env
  hostPath:
    path: {{ $facts.gpuEnv }}
    type: FileOrCreate
{{- end }}
{{- with $facts.mpsRoot }}
- name: mps-root
  hostPath:
    path: {{ . }}
    type: DirectoryOrCreate
{{- end }}
{{- with $facts.mpsAbovePipe }}
- name: mps-outside
  hostPath:
    path: {{ . }}
    type: DirectoryOrCreate
{{- end }}
{{- if $facts.cdi }}
- name: cdi
  hostPath:
    path: {{ $facts.cdiDir }}
    type: DirectoryOrCreate
{{- end }}
{{- with $facts.driverRoot }}
- name: driver-root
  hostPath:
    path: {{ . }}
    type: {{ eq . "/" | ternary "Directory" "DirectoryOrCreate" }}
{{- end }}
{{- if .Values.privileged }}
- name: dev
  hostPath:
    path: /dev
    type: Directory
{{- end }}
{{- with $facts.hostPath }}
- name: driver-folder
  hostPath:
    path: {{ . }}
    type: DirectoryOrCreate
{{- end }}
{{- with .Values.stateDir }}
- name: state
  hostPath:
    path: {{ . }}
    type: DirectoryOrCreate
{{- end }}
{{- with include "tranche.configMapName" . }}
- name: config
  configMap:
    name: {{ . }}
{{- end }}
{{- if eq (include "tranche.features" . | fromYaml).labels "file" }}
- name: features
  hostPath:
    path: {{ include "tranche.featuresFile" . | dir }}
    type: DirectoryOrCreate
{{- end }}
{{- with .Values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end -}}
