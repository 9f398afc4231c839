{{/* The ConfigMap to mount; empty: none. */}}
{{- define "tranche.configMapName" -}}
{{- if .Values.config.map -}}
{{- printf "%s-config" (include "tranche.fullname" .) -}}
{{- else -}}
{{- .Values.config.name -}}
{{- end -}}
{{- end -}}

{{/* The entry of it that is the file. */}}
{{- define "tranche.configKey" -}}
{{- .Values.config.default | default (keys (.Values.config.map | default dict) | first) -}}
{{- end -}}

{{/* What config.map says, as a value; what is in a ConfigMap of the cluster is not
     known here. */}}
{{- define "tranche.inlineConfig" -}}
{{- range $key, $content := .Values.config.map -}}
{{- $file := fromYaml $content -}}
{{- if hasKey $file "Error" -}}
{{- fail (printf "config.map.%s is no YAML: %s" $key $file.Error) -}}
{{- end -}}
{{- toYaml $file -}}
{{- end -}}
{{- end -}}

{{/* What the pod has to be made for, from values and config.map; values win, as their
     variables do in the program. */}}
{{- define "tranche.facts" -}}
{{- $file := include "tranche.inlineConfig" . | fromYaml -}}
{{- $flags := $file.flags | default dict -}}
{{- $plugin := $flags.plugin | default dict -}}
{{- $own := $file.tranche | default dict -}}
{{- $strategy := .Values.deviceListStrategy | default $plugin.deviceListStrategy | toString -}}
{{- $cdi := .Values.cdi.enabled -}}
{{- if kindIs "invalid" $cdi -}}
{{- $cdi = regexMatch "cdi-(annotations|cri)" $strategy -}}
{{- end -}}
{{- $driverRoot := .Values.nvidiaDriverRoot | default $flags.nvidiaDriverRoot -}}
{{- $place := .Values.containerDriverRoot | default $plugin.containerDriverRoot | default "/driver-root" -}}
{{- $mig := .Values.migStrategy | default $flags.migStrategy | default "none" -}}
{{- /* A ConfigMap that cannot be seen may ask for MIG. */ -}}
{{- $hidden := and .Values.config.name (not .Values.migStrategy) -}}
{{- $kubelet := "/var/lib/kubelet/device-plugins" -}}
cdi: {{ $cdi }}
cdiDir: {{ .Values.cdi.dir | default "/var/run/cdi" | quote }}
{{- if and (ne $place "/") (or $driverRoot $cdi .Values.privileged) }}
driverRoot: {{ $driverRoot | default "/" | quote }}
{{- end }}
driverRootPlace: {{ $place | quote }}
hostPath: {{ .Values.hostPath | default $own.hostPath | default "" | quote }}
mig: {{ or (ne $mig "none") (not (empty $hidden)) }}
kubeletFolder: {{ .Values.kubeletSocket | default (printf "%s/kubelet.sock" $kubelet) | dir | quote }}
{{- end -}}
