{{/* The ConfigMap to mount; empty: none. */}}
{{- define "tranche.configMapName" -}}
{{- if .Values.config.map -}}
{{- printf "%s-config" (include "tranche.fullname" .) -}}
{{- else -}}
{{- .Values.config.name -}}
{{- end -}}
{{- end -}}

{{/* Whether a label of the node chooses the entry of it. In a ConfigMap of the cluster there may
     be several. */}}
{{- define "tranche.configByLabel" -}}
{{- $config := .Values.config -}}
{{- $by := $config.byLabel -}}
{{- if kindIs "invalid" $by -}}{{- $by = or $config.name (gt (len ($config.map | default dict)) 1) -}}{{- end -}}
{{- if and $by (include "tranche.configMapName" .) -}}yes{{- end -}}
{{- end -}}

{{/* The entry of it that all nodes use, if no label chooses one. */}}
{{- define "tranche.configKey" -}}
{{- .Values.config.default | default (keys (.Values.config.map | default dict) | first) -}}
{{- end -}}

{{- define "tranche.configFolder" -}}
{{- include "tranche.configByLabel" . | empty | ternary "/etc/tranche" "/available-configs" -}}
{{- end -}}

{{/* The entries of config.map that a node may use, as values by their names; what is in a
     ConfigMap of the cluster is not known here. */}}
{{- define "tranche.inlineConfigs" -}}
{{- $files := dict -}}
{{- $only := include "tranche.configByLabel" . | empty | ternary (include "tranche.configKey" .) "" -}}
{{- range $key, $content := .Values.config.map -}}
{{- $file := fromYaml $content -}}
{{- if hasKey $file "Error" -}}
{{- fail (printf "config.map.%s is no YAML: %s" $key $file.Error) -}}
{{- end -}}
{{- if or (not $only) (eq $only $key) -}}{{- $_ := set $files $key $file -}}{{- end -}}
{{- end -}}
{{- toJson $files -}}
{{- end -}}

{{/* What the pod has to be made for, from values and all entries of config.map that a node may
     use: the agent goes from one to another without a new pod. */}}
{{- define "tranche.facts" -}}
{{- $root := . -}}
{{- $merged := dict -}}
{{- $from := dict -}}
{{- range $name, $file := include "tranche.inlineConfigs" . | fromJson | default (dict "" (dict)) -}}
{{- range $key, $fact := include "tranche.factsOf" (dict "Values" $root.Values "file" $file) | fromYaml -}}
{{- $before := get $merged $key -}}
{{- if and (kindIs "string" $fact) $fact $before (ne (toString $before) $fact) -}}
{{- fail (printf "config.map: the entries %s and %s need different pods (%s: %s and %s). Set the same in both, or install a release for each, with nodeSelector." (get $from $key) $name $key $before $fact) -}}
{{- end -}}
{{- if or $fact (not (hasKey $merged $key)) -}}
{{- $_ := set $merged $key $fact -}}
{{- $_ := set $from $key $name -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- toYaml $merged -}}
{{- end -}}

{{/* Of one file; values win, as their variables do in the program. */}}
{{- define "tranche.factsOf" -}}
{{- $file := .file -}}
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
{{- $profile := .Values.profile | default $own.profile | default "nvidia" -}}
{{- $byGoogle := has $profile (list "deepomatic" "gcp") -}}
{{- $kubelet := $byGoogle | ternary "/device-plugin" "/var/lib/kubelet/device-plugins" -}}
{{- $daemons := include "tranche.mpsDaemons" (dict "values" .Values "file" $file) -}}
{{- $ownDaemons := has $daemons (list "per-gpu" "per-node") -}}
{{- $folder := .Values.kubeletSocket | default (printf "%s/kubelet.sock" (.Values.pluginDirectory | default $kubelet)) | dir -}}
{{- $onHost := printf "%s/device-plugins" (.Values.kubeletRootDir | trimSuffix "/") -}}
{{- $hostsNodes := eq $profile "nested-host" -}}
{{- range $own.policies -}}
{{- if eq (toString .dialect) "nested-host" -}}{{- $hostsNodes = true -}}{{- end -}}
{{- end -}}
{{- /* What is mounted into node pods has the same path on the host as here. */ -}}
{{- $nestedDir := .Values.nested.dir | default ($own.nested).directory -}}
{{- if and $hostsNodes (not $nestedDir) (not .Values.stateDir) (ne $folder $onHost) -}}
{{- $nestedDir = printf "%s/tranche/nested" $onHost -}}
{{- end -}}
{{- $guest := .Values.nested.guest -}}
{{- if kindIs "invalid" $guest -}}{{- $guest = ($own.nested).guest | default (eq $profile "nested-guest") -}}{{- end -}}
cdi: {{ $cdi }}
cdiDir: {{ .Values.cdi.dir | default "/var/run/cdi" | quote }}
{{- if and (ne $place "/") (or $driverRoot $cdi .Values.privileged $ownDaemons) }}
driverRoot: {{ $driverRoot | default "/" | quote }}
{{- end }}
driverRootPlace: {{ $place | quote }}
hostPath: {{ .Values.hostPath | default $own.hostPath | default ($byGoogle | ternary "/home/kubernetes/bin/nvidia" "") | quote }}
mig: {{ or (ne $mig "none") (not (empty $hidden)) }}
kubeletFolder: {{ $folder | quote }}
nestedDir: {{ $nestedDir | default "" | quote }}
hostGrants: {{ $guest | ternary (.Values.nested.hostGrants | default ($own.nested).hostGrants | default "/gpu-grants") "" | quote }}
gpuEnv: {{ $guest | ternary (.Values.nested.gpuEnv | default ($own.nested).gpuEnv | default "/gpu.env") "" | quote }}
podResourcesFolder: {{ .Values.podResourcesSocket | default "/var/lib/kubelet/pod-resources/kubelet.sock" | dir | quote }}
mpsDir: {{ $ownDaemons | ternary (.Values.mps.dir | default ($own.mps).directory | default "/run/tranche/mps") "" | quote }}
{{- $shared := .Values.mps.sharedMemory -}}
{{- if kindIs "invalid" $shared -}}{{- $shared = ($own.mps).sharedMemory -}}{{- end }}
{{- /* As the program decides it. */ -}}
{{- $pipe := .Values.mps.pipe | default ($own.mps).pipe -}}
{{- if and (not $pipe) (eq $daemons "outside") (eq $profile "gpushare") -}}{{- $pipe = "/tmp/nvidia-mps" -}}{{- end -}}
{{- $abovePipe := $pipe | default "/" | trimSuffix "/" | dir }}
mpsAbovePipe: {{ and (has $daemons (list "" "outside")) (ne $abovePipe "/") (ne $abovePipe ".") | ternary $abovePipe "" | quote }}
mpsSharedMemory: {{ and $ownDaemons (eq (toString $shared) "true") }}
mpsRoot: {{ eq $daemons "nvidia" | ternary (.Values.mps.root | default $flags.mpsRoot) "" | quote }}
{{- end -}}

{{/* Who runs the MPS daemons, as the program decides it; empty: nothing asks for MPS. */}}
{{- define "tranche.mpsDaemons" -}}
{{- $mps := .values.mps -}}
{{- $own := .file.tranche | default dict -}}
{{- $chosen := $mps.daemons | default ($own.mps).daemons -}}
{{- $asked := or $mps.enabled $chosen (.file.sharing).mps -}}
{{- range $own.policies -}}
{{- if hasPrefix "mps" (toString .enforcement) -}}{{- $asked = true -}}{{- end -}}
{{- end -}}
{{- $profile := .values.profile | default $own.profile -}}
{{- $usual := "per-gpu" -}}
{{- if or $mps.root (.file.flags).mpsRoot -}}{{- $usual = "nvidia" -}}
{{- else if and $mps.enabled (eq (toString $profile) "gpushare") -}}{{- $usual = "outside" -}}
{{- end -}}
{{- if or $mps.pipe ($own.mps).pipe -}}{{- $usual = "outside" -}}{{- end -}}
{{- if $asked -}}{{- $chosen | default $usual -}}{{- end -}}
{{- end -}}
