{{/* The keys of the operator's configuration file; docs/configuration.md says what each means. */}}
{{- define "kuberay-operator.configuration" -}}
{{- with include "kuberay-operator.switch" .Values.leaderElectionEnabled }}
enableLeaderElection: {{ . }}
{{- end }}
{{- with include "kuberay-operator.switch" (.Values.metrics).enabled }}
enableMetrics: {{ . }}
{{- end }}
{{- if hasKey .Values "reconcileConcurrency" }}
reconcileConcurrency: {{ include "kuberay-operator.reconcileConcurrency" . }}
{{- end }}
{{- with include "kuberay-operator.switch" .Values.useKubernetesProxy }}
useKubernetesProxy: {{ . }}
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
