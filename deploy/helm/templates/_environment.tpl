{{/* A list as the program takes it, with commas; everything else as it is. */}}
{{- define "tranche.text" -}}
{{- if kindIs "slice" . -}}{{- join "," . -}}{{- else -}}{{- toString . -}}{{- end -}}
{{- end -}}

{{- define "tranche.environment" -}}
{{ include "tranche.flagVariables" . }}
{{- if not .Values.nodeName }}
- name: NODE_NAME
  valueFrom:
    fieldRef:
      fieldPath: spec.nodeName
{{- end }}
{{- if include "tranche.watchesMig" . }}
- name: NVIDIA_MIG_MONITOR_DEVICES
  value: all
{{- end }}
{{- with (((.Values.devicePlugin).containers).main).env }}
{{ toYaml . }}
{{- end }}
{{- with .Values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* Whether NVIDIA's runtime is asked for the right to watch MIG devices. It refuses
     containers that ask without SYS_ADMIN. */}}
{{- define "tranche.watchesMig" -}}
{{- $facts := include "tranche.facts" . | fromYaml -}}
{{- $context := include "tranche.securityContext" . -}}
{{- $may := regexMatch "SYS_ADMIN|privileged: true" $context -}}
{{- if and $facts.mig $may (not .Values.privileged) -}}yes{{- end -}}
{{- end -}}

{{/* The variables of the program's flags: those that have a value. */}}
{{- define "tranche.flagVariables" -}}
{{- $v := .Values -}}
{{- $specs := $v.passDeviceSpecs -}}
{{- if kindIs "invalid" $specs -}}{{- $specs = $v.compatWithCPUManager -}}{{- end -}}
{{- $configFile := $v.configFile -}}
{{- $configDir := "" -}}
{{- if include "tranche.configByLabel" . -}}
{{- $configDir = include "tranche.configFolder" . -}}
{{- else if include "tranche.configMapName" . -}}
{{- $configFile = printf "%s/%s" (include "tranche.configFolder" .) (include "tranche.configKey" .) -}}
{{- end -}}
{{- $features := include "tranche.features" . | fromYaml -}}
{{- $facts := include "tranche.facts" . | fromYaml -}}
{{- $variables := list
  (list "CONFIG_FILE" $configFile)
  (list "CONFIG_DIR" $configDir)
  (list "NODE_LABEL" ($configDir | empty | ternary "" $v.config.label))
  (list "DEFAULT_CONFIG" ($configDir | empty | ternary "" $v.config.default))
  (list "FALLBACK_STRATEGIES" ($configDir | empty | ternary "" $v.config.fallbackStrategies))
  (list "GPU_NODE" $v.gpuNode.enabled)
  (list "NODE_EVENTS" $v.events.enabled)
  (list "NODE_CONDITION" $v.nodeCondition)
  (list "EXTENDED_RESOURCES" (include "tranche.extendedResources" .))
  (list "NODE_LABELS" (eq $features.labels "none" | ternary "" $features.labels))
  (list "GFD_OUTPUT_FILE" (eq $features.labels "file" | ternary (include "tranche.featuresFile" .) ""))
  (list "GFD_MACHINE_TYPE_FILE" (eq $features.labels "none" | ternary "" $v.gfd.machineTypeFile))
  (list "GFD_NO_TIMESTAMP" (eq $features.labels "none" | ternary "" $v.gfd.noTimestamp))
  (list "KUBECONFIG" $v.kubeconfig)
  (list "MIG_STRATEGY" $v.migStrategy)
  (list "EXCLUDE_DEVICES" $v.excludeDevices)
  (list "SHARED_DEVICES_ALLOCATION_POLICY" $v.sharedDevicesAllocationPolicy)
  (list "PROFILE" $v.profile)
  (list "GPU_DUPLICATION_FACTOR" $v.gpuDuplicationFactor)
  (list "MEMORY_UNIT" $v.memoryUnit)
  (list "MPS" $v.mps.enabled)
  (list "MPS_PIPE" $v.mps.pipe)
  (list "MPS_DAEMONS" $v.mps.daemons)
  (list "MPS_DIR" $v.mps.dir)
  (list "MPS_SHARED_MEMORY" $v.mps.sharedMemory)
  (list "MPS_SHARED_MEMORY_SIZE" $v.mps.sharedMemorySize)
  (list "MPS_END_HOLDERS" $v.mps.endHolders)
  (list "MPS_ROOT" $v.mps.root)
  (list "MPS_CLIENTS" $v.mps.clients)
  (list "NESTED_EXPOSURE" $v.nested.exposure)
  (list "NESTED_DIR" $facts.nestedDir)
  (list "NESTED_GPU_ENV" $v.nested.gpuEnvMount)
  (list "NESTED_GUEST" $v.nested.guest)
  (list "HOST_GRANTS" $v.nested.hostGrants)
  (list "GPU_ENV" $v.nested.gpuEnv)
  (list "DEVICE_LIST_STRATEGY" $v.deviceListStrategy)
  (list "DEVICE_ID_STRATEGY" $v.deviceIDStrategy)
  (list "PASS_DEVICE_SPECS" $specs)
  (list "GDRCOPY_ENABLED" $v.gdrcopyEnabled)
  (list "GDS_ENABLED" $v.gdsEnabled)
  (list "MOFED_ENABLED" $v.mofedEnabled)
  (list "IMEX_CHANNEL_IDS" $v.imex.channelIDs)
  (list "IMEX_REQUIRED" $v.imex.required)
  (list "HOST_PATH" $v.hostPath)
  (list "CONTAINER_PATH" $v.containerPath)
  (list "HOST_VULKAN_ICD_PATH" $v.hostVulkanIcdPath)
  (list "CONTAINER_VULKAN_ICD_PATH" $v.containerVulkanIcdPath)
  (list "CDI_ANNOTATION_PREFIX" $v.cdi.annotationPrefix)
  (list "NVIDIA_CDI_HOOK_PATH" $v.cdi.nvidiaHookPath)
  (list "CDI_TOOLKIT_VERSION" $v.cdi.toolkitVersion)
  (list "CDI_DIR" $v.cdi.dir)
  (list "CDI_FEATURE_FLAGS" $v.cdi.featureFlags)
  (list "CDI_DISABLE_HOOKS" $v.cdi.disableHooks)
  (list "FAIL_ON_INIT_ERROR" $v.failOnInitError)
  (list "DEVICE_DISCOVERY_STRATEGY" $v.deviceDiscoveryStrategy)
  (list "NVIDIA_DRIVER_ROOT" $v.nvidiaDriverRoot)
  (list "NVIDIA_DEV_ROOT" $v.nvidiaDevRoot)
  (list "DRIVER_ROOT_CTR_PATH" $v.containerDriverRoot)
  (list "HOST_ROOT" $v.hostRoot)
  (list "DRIVER_CALL_TIMEOUT" $v.driverCallTimeout)
  (list "HEALTH_CHECK_INTERVAL" $v.healthCheckInterval)
  (list "DP_DISABLE_HEALTHCHECKS" $v.disableHealthchecks)
  (list "DP_ENABLE_HEALTHCHECKS" $v.enableHealthchecks)
  (list "NODE_NAME" $v.nodeName)
  (list "XID_CONFIG" $v.xidConfig)
  (list "KUBELET_SOCKET" $v.kubeletSocket)
  (list "PLUGIN_DIRECTORY" $v.pluginDirectory)
  (list "ENABLE_FLOCK_WAIT" $v.enableFlockWait)
  (list "POD_RESOURCES_SOCKET" $v.podResourcesSocket)
  (list "KUBELET_CHECKPOINT" $v.kubeletCheckpoint)
  (list "STATE_DIR" $v.stateDir)
  (list "LOG_FORMAT" $v.logFormat)
-}}
{{- range $variables -}}
{{- $value := index . 1 -}}
{{- if not (or (kindIs "invalid" $value) (and (kindIs "slice" $value) (empty $value)) (eq (toString $value) "")) }}
- name: {{ index . 0 }}
  value: {{ include "tranche.text" $value | quote }}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "tranche.arguments" -}}
{{- if not (kindIs "invalid" .Values.verbosity) }}
- --v={{ .Values.verbosity }}
{{- end -}}
{{- range .Values.extraArgs }}
- {{ . | quote }}
{{- end -}}
{{- end -}}
