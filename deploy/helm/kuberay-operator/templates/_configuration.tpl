{{/* The keys of the operator's configuration file; docs/configuration.md says what each means. */}}
{{- define "kuberay-operator.configuration" -}}
{{- if hasKey .Values "leaderElectionEnabled" }}
enableLeaderElection: {{ .Values.leaderElectionEnabled }}
{{- end }}
{{- if hasKey (.Values.metrics | default dict) "enabled" }}
enableMetrics: {{ .Values.metrics.enabled }}
{{- end }}
{{- if hasKey .Values "reconcileConcurrency" }}
reconcileConcurrency: {{ include "kuberay-operator.reconcileConcurrency" . }}
{{- end }}
{{- if hasKey .Values "useKubernetesProxy" }}
useKubernetesProxy: {{ .Values.useKubernetesProxy }}
{{- end }}
{{- with .Values.kubeClient }}
{{- if hasKey . "qps" }}
qps: {{ include "kuberay-operator.qps" $ }}
{{- end }}
{{- if hasKey . "burst" }}
burst: {{ include "kuberay-operator.burst" $ }}
{{- end }}
{{- end }}
{{- with include "kuberay-operator.watchNamespaces" . }}
watchNamespace: {{ . | quote }}
{{- end }}
{{- with include "kuberay-operator.logFile" . }}
logFile: {{ . | quote }}
{{- end }}
{{- with (.Values.logging).stdoutEncoder }}
logStdoutEncoder: {{ . | quote }}
{{- end }}
{{- with (.Values.logging).fileEncoder }}
logFileEncoder: {{ . | quote }}
{{- end }}
{{- with .Values.batchScheduler }}
{{- if .enabled }}
enableBatchScheduler: true
{{- end }}
{{- with .name }}
batchScheduler: {{ . | quote }}
{{- end }}
{{- end }}
{{- range $key := list "headSidecarContainers" "workerSidecarContainers" "defaultContainerEnvs" "defaultPodAnnotations" "defaultPodLabels" }}
{{- with index $.Values.configuration $key }}
{{ $key }}:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
{{- end -}}
