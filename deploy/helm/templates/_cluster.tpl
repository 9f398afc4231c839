{{/* What the agent does at the API server, and the rights for it. */}}

{{/* Values win over the file, as in the program; what is in a ConfigMap of the cluster is not
     known here. */}}
{{- define "tranche.features" -}}
{{- $v := .Values -}}
{{- $gpuNode := $v.gpuNode.enabled -}}
{{- $events := $v.events.enabled -}}
{{- $conditions := list -}}
{{- with $v.nodeCondition -}}{{- $conditions = list . -}}{{- end -}}
{{- $resources := keys ($v.extendedResources | default dict) -}}
{{- range $file := include "tranche.inlineConfigs" . | fromJson -}}
{{- $own := ($file.tranche).cluster | default dict -}}
{{- if kindIs "invalid" $v.gpuNode.enabled -}}{{- $gpuNode = or $gpuNode $own.gpuNode -}}{{- end -}}
{{- if kindIs "invalid" $v.events.enabled -}}{{- $events = or $events $own.events -}}{{- end -}}
{{- if and $own.condition (not $v.nodeCondition) -}}{{- $conditions = append $conditions $own.condition -}}{{- end -}}
{{- if not $v.extendedResources -}}
{{- $words := $own.extendedResources | default list -}}
{{- range kindIs "string" $words | ternary (splitList "," (toString $words)) $words -}}
{{- $resources = append $resources (splitList "=" . | first | trim) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $labels := "none" -}}
{{- if ($v.gfd).enabled -}}{{- $labels = $v.gfd.output | default "api" -}}{{- end -}}
{{- $byLabel := not (empty (include "tranche.configByLabel" .)) -}}
gpuNode: {{ not (empty $gpuNode) }}
events: {{ not (empty $events) }}
conditions: {{ uniq $conditions | sortAlpha | toJson }}
resources: {{ uniq $resources | sortAlpha | toJson }}
labels: {{ $labels }}
byLabel: {{ $byLabel }}
needed: {{ or $gpuNode $events $conditions $resources (eq $labels "api") $byLabel | empty | not }}
{{- end -}}

{{/* Whether the pod gets a token and the account rights. With a kubeconfig, that says who the
     agent is and what it may do. */}}
{{- define "tranche.hasRights" -}}
{{- if and (include "tranche.features" . | fromYaml).needed (not .Values.kubeconfig) -}}yes{{- end -}}
{{- end -}}

{{/* Objects of the whole cluster are named after the release's namespace, too. */}}
{{- define "tranche.clusterName" -}}
{{- printf "agent.%s.%s" (include "tranche.namespace" .) (include "tranche.fullname" .) -}}
{{- end -}}

{{/* Whether the agent is confined to its own node. */}}
{{- define "tranche.confinesAgent" -}}
{{- if and (include "tranche.hasRights" .) .Values.admission.ownNodeOnly (semverCompare ">=1.30-0" .Capabilities.KubeVersion.Version) -}}yes{{- end -}}
{{- end -}}

{{/* As the program takes it: NAME=COUNT,… */}}
{{- define "tranche.extendedResources" -}}
{{- $words := list -}}
{{- range $name, $count := .Values.extendedResources -}}
{{- /* Numbers of a file are floating point here, and print as 1e+06. */ -}}
{{- $words = append $words (printf "%s=%s" $name (kindIs "string" $count | ternary (toString $count) (int64 $count | toString))) -}}
{{- end -}}
{{- join "," $words -}}
{{- end -}}

{{/* Where node feature discovery looks for features, on the host and in the container. */}}
{{- define "tranche.featuresFile" -}}
{{- .Values.gfd.outputFile | default "/etc/kubernetes/node-feature-discovery/features.d/gfd" -}}
{{- end -}}
