{{/* What cannot be served is refused here, with what to do instead, and never ignored. */}}
{{- define "tranche.refusals" -}}
{{- include "tranche.refuseForeign" . -}}
{{- include "tranche.refuseConfig" . -}}
{{- include "tranche.refuseUnfit" . -}}
{{- include "tranche.refuseAdmission" . -}}
{{- end -}}

{{/* Parts of NVIDIA's chart that this one has not. */}}
{{- define "tranche.refuseForeign" -}}
{{- $v := .Values -}}
{{- if ($v.nfd).enabled -}}
{{- fail "nfd.enabled: node feature discovery is not part of this chart. Install it by its own chart and leave nfd.enabled out here." -}}
{{- end -}}
{{- if eq (toString ($v.devicePlugin).enabled) "false" -}}
{{- fail "devicePlugin.enabled=false: this chart is the device plugin and nothing else. Uninstall the release, or keep it off nodes with nodeSelector." -}}
{{- end -}}
{{- if contains "nvidia/k8s-device-plugin" $v.image.repository -}}
{{- fail (printf "image.repository is %s, which is NVIDIA's plugin. Leave out image.repository and image.tag, or name your copy of the image that 'make image' makes." $v.image.repository) -}}
{{- end -}}
{{- if has $v.deviceDiscoveryStrategy (list "tegra" "wsl") -}}
{{- fail (printf "deviceDiscoveryStrategy=%s: this version does not serve such nodes. Leave it out, or say auto or nvml; keep NVIDIA's plugin on Tegra and WSL nodes." $v.deviceDiscoveryStrategy) -}}
{{- end -}}
{{- end -}}

{{- define "tranche.refuseConfig" -}}
{{- $config := .Values.config -}}
{{- $names := keys ($config.map | default dict) | sortAlpha -}}
{{- if and $config.map $config.name -}}
{{- fail "config.map and config.name are both given. Keep one: map holds the configuration itself, name names a ConfigMap that exists." -}}
{{- end -}}
{{- if and (eq (toString $config.byLabel) "false") (not $config.default) (or $config.name (gt (len $names) 1)) -}}
{{- fail "config.byLabel=false needs config.default: which entry of the ConfigMap all nodes use." -}}
{{- end -}}
{{- if and $config.map $config.default (not (has $config.default $names)) -}}
{{- fail (printf "config.default is %s, but config.map has %s." $config.default (join ", " $names)) -}}
{{- end -}}
{{- if and $config.default (not $config.map) (not $config.name) -}}
{{- fail "config.default names an entry, but there is neither config.map nor config.name." -}}
{{- end -}}
{{- if and .Values.configFile (or $config.map $config.name) -}}
{{- fail "configFile and config are both given. Keep one." -}}
{{- end -}}
{{- if and $config.byLabel (not $config.map) (not $config.name) -}}
{{- fail "config.byLabel=true: there are no entries to choose from. Give config.map or config.name." -}}
{{- end -}}
{{- end -}}

{{/* Values that cannot go together. */}}
{{- define "tranche.refuseUnfit" -}}
{{- $facts := include "tranche.facts" . | fromYaml -}}
{{- if and .Values.containerPath (not $facts.hostPath) -}}
{{- fail "containerPath is where containers find the folder of hostPath; give both." -}}
{{- end -}}
{{- if and .Values.containerVulkanIcdPath (not .Values.hostVulkanIcdPath) (ne (toString .Values.profile) "gcp") -}}
{{- fail "containerVulkanIcdPath is where containers find the folder of hostVulkanIcdPath; give both." -}}
{{- end -}}
{{- if and .Values.kubeletSocket .Values.pluginDirectory -}}
{{- fail "kubeletSocket and pluginDirectory both say where the kubelet's socket is. Keep one." -}}
{{- end -}}
{{- if and .Values.mps.pipe (not (has (toString (.Values.mps.daemons | default "")) (list "" "outside"))) -}}
{{- fail (printf "mps.pipe is of a daemon that somebody else runs, but mps.daemons is %s. Keep one." .Values.mps.daemons) -}}
{{- end -}}
{{- if and $facts.mpsDir (eq (toString .Values.mps.enableHostPID) "false") -}}
{{- fail "mps.enableHostPID=false: the MPS daemons that the agent runs know their clients by the host's process numbers. Leave it out, or have the daemons run by somebody else (mps.daemons=outside)." -}}
{{- end -}}
{{- if and .Values.gfd.outputFile (not (and .Values.gfd.enabled (eq (toString .Values.gfd.output) "file"))) -}}
{{- fail "gfd.outputFile is for gfd.output=file with gfd.enabled; set these, too." -}}
{{- end -}}
{{- if and (not .Values.allowDefaultNamespace) (eq (include "tranche.namespace" .) "default") -}}
{{- fail "The release would be in the namespace 'default', and allowDefaultNamespace is false. Choose one with --namespace." -}}
{{- end -}}
{{- end -}}
