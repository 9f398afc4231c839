{{/* Resource names that values and config.map lead to: all, and those with MPS. What a
     ConfigMap of the cluster has is not known here. */}}
{{- define "tranche.resourceNames" -}}
{{- $v := .Values -}}
{{- $all := list -}}
{{- $mps := list -}}
{{- range $file := include "tranche.inlineConfigs" . | fromJson | default (dict "" (dict)) -}}
{{- $found := include "tranche.resourceNamesOf" (dict "Values" $v "file" $file) | fromJson -}}
{{- $all = concat $all $found.all -}}
{{- $mps = concat $mps $found.mps -}}
{{- end -}}
{{- $all = concat $all ($v.admission.resources | default list) -}}
{{- $mps = $v.admission.mpsResources | default $mps -}}
{{- dict "all" (uniq (concat $all $mps) | sortAlpha) "mps" (uniq $mps | sortAlpha) | toJson -}}
{{- end -}}

{{/* Of one file. */}}
{{- define "tranche.resourceNamesOf" -}}
{{- $v := .Values -}}
{{- $file := .file -}}
{{- $own := $file.tranche | default dict -}}
{{- $pipe := or $v.mps.pipe ($own.mps).pipe -}}
{{- $all := list -}}
{{- $mps := list -}}
{{- range $own.policies -}}
{{- $name := include "tranche.qualified" .resource -}}
{{- $all = append $all $name -}}
{{- $byPipe := and $pipe (has (toString (.enforcement | default "auto")) (list "auto")) (has .share (list "replicas" "memory")) -}}
{{- if or (hasPrefix "mps" (toString .enforcement)) $byPipe -}}{{- $mps = append $mps $name -}}{{- end -}}
{{- end -}}
{{- range $form := list "timeSlicing" "mps" -}}
{{- $sharing := (get ($file.sharing | default dict) $form) | default dict -}}
{{- range $sharing.resources -}}
{{- $name := include "tranche.qualified" (.rename | default ($sharing.renameByDefault | ternary (printf "%s.shared" .name) .name)) -}}
{{- $all = append $all $name -}}
{{- if eq $form "mps" -}}{{- $mps = append $mps $name -}}{{- end -}}
{{- end -}}
{{- end -}}
{{- /* Rows take the place of what the profile offers. */ -}}
{{- if not $own.policies -}}
{{- $profile := $v.profile | default $own.profile -}}
{{- $name := "" -}}
{{- if eq (toString $profile) "gpushare" -}}{{- $name = "aliyun.com/gpu-mem" -}}
{{- else if or (eq (toString $profile) "deepomatic") $v.gpuDuplicationFactor $own.gpuDuplicationFactor -}}
{{- $name = "deepomatic.com/shared-gpu" -}}
{{- end -}}
{{- if $name -}}
{{- $all = append $all $name -}}
{{- if or $v.mps.enabled ($own.mps).enabled $pipe -}}{{- $mps = append $mps $name -}}{{- end -}}
{{- end -}}
{{- end -}}
{{- dict "all" $all "mps" $mps | toJson -}}
{{- end -}}

{{- define "tranche.qualified" -}}
{{- contains "/" (toString .) | ternary (toString .) (printf "nvidia.com/%s" .) -}}
{{- end -}}

{{/* Whether only clients without root are allowed. */}}
{{- define "tranche.refusesRootClients" -}}
{{- $clients := list .Values.mps.clients -}}
{{- if not .Values.mps.clients -}}
{{- range $file := include "tranche.inlineConfigs" . | fromJson -}}
{{- $clients = append $clients (($file.tranche).mps).clients -}}
{{- end -}}
{{- end -}}
{{- if has "non-root" $clients -}}yes{{- end -}}
{{- end -}}

{{- define "tranche.refuseAdmission" -}}
{{- $root := include "tranche.refusesRootClients" . -}}
{{- if and $root (not (include "tranche.resourceNames" . | fromJson).mps) -}}
{{- fail "mps.clients=non-root: which resources have MPS cannot be seen in config.map or the profile. Name them in admission.mpsResources." -}}
{{- end -}}
{{- if and (or $root .Values.admission.forbidEnvOverrides) (semverCompare "<1.30-0" .Capabilities.KubeVersion.Version) -}}
{{- fail (printf "mps.clients=non-root and admission.forbidEnvOverrides need Kubernetes 1.30 or newer, but this is %s. Leave them out, and use another admission controller." .Capabilities.KubeVersion.Version) -}}
{{- end -}}
{{- end -}}

{{/* Which requests are judged. Pods cannot be given another user or variable later, so
     pods that are there already can still be changed and deleted; debug containers can be
     added. */}}
{{- define "tranche.judgedRequests" -}}
resourceRules:
  - apiGroups: [""]
    apiVersions: [v1]
    operations: [CREATE]
    resources: [pods]
  - apiGroups: [""]
    apiVersions: [v1]
    operations: [UPDATE]
    resources: [pods/ephemeralcontainers]
{{- end -}}

{{- define "tranche.everyContainer" -}}
object.spec.containers + object.spec.?initContainers.orValue([]) + object.spec.?ephemeralContainers.orValue([])
{{- end -}}

{{/* The binding of the policy with this name. */}}
{{- define "tranche.binding" -}}
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata:
  name: {{ .name }}
  labels:
    {{- include "tranche.labels" .root | nindent 4 }}
spec:
  policyName: {{ .name }}
  validationActions: {{ .root.Values.admission.actions | toJson }}
  {{- with .root.Values.admission.exemptNamespaces }}
  matchResources:
    namespaceSelector:
      matchExpressions:
        - key: kubernetes.io/metadata.name
          operator: NotIn
          values: {{ . | toJson }}
  {{- end }}
{{- end -}}
