{{/* Where the agent's pods run, and how they are replaced. */}}

{{/* Daemons in the agent's pod end with it, and their clients with them: there, somebody
     says when. */}}
{{- define "tranche.updateStrategy" -}}
{{- if .Values.updateStrategy -}}
{{- toYaml .Values.updateStrategy -}}
{{- else if (include "tranche.facts" . | fromYaml).mpsDir -}}
type: OnDelete
{{- else -}}
type: RollingUpdate
rollingUpdate:
  maxUnavailable: 1
{{- end -}}
{{- end -}}

{{/* Labels that say "there is an NVIDIA GPU", and who sets them. */}}
{{- define "tranche.gpuLabels" -}}
- {key: nvidia.com/gpu.present, operator: In, values: ["true"]}
- {key: feature.node.kubernetes.io/pci-10de.present, operator: In, values: ["true"]}
- {key: feature.node.kubernetes.io/pci-0300_10de.present, operator: In, values: ["true"]}
- {key: feature.node.kubernetes.io/pci-0302_10de.present, operator: In, values: ["true"]}
- {key: cloud.google.com/gke-accelerator, operator: Exists}
- {key: k8s.amazonaws.com/accelerator, operator: Exists}
- {key: karpenter.k8s.aws/instance-gpu-manufacturer, operator: In, values: [nvidia]}
- {key: eks.amazonaws.com/instance-gpu-manufacturer, operator: In, values: [nvidia]}
- {key: kubernetes.azure.com/accelerator, operator: In, values: [nvidia]}
- {key: accelerator, operator: In, values: [nvidia]}
{{- end -}}

{{/* A pod with a RuntimeClass never starts on a node without that runtime, and a rollout
     waits for it. Without the RuntimeClass the agent waits by itself where no GPU is. */}}
{{- define "tranche.affinity" -}}
{{- if .Values.affinity -}}
{{- toYaml .Values.affinity -}}
{{- else if include "tranche.choosesLabelledNodes" . -}}
nodeAffinity:
  requiredDuringSchedulingIgnoredDuringExecution:
    nodeSelectorTerms:
{{- range include "tranche.gpuLabels" . | fromYamlArray }}
      - matchExpressions: {{ list . | toJson }}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "tranche.choosesLabelledNodes" -}}
{{- if and .Values.runtimeClassName (not .Values.affinity) (not .Values.nodeSelector) -}}yes{{- end -}}
{{- end -}}

{{/* NVIDIA's chart has one switch for the plugin's pod and one for the daemons': here they
     are in the same pod. */}}
{{- define "tranche.hostNetwork" -}}
{{- $daemons := (include "tranche.facts" . | fromYaml).mpsDir -}}
{{- if or (.Values.devicePlugin).enableHostNetwork (and $daemons .Values.mps.enableHostNetwork) -}}yes{{- end -}}
{{- end -}}
