{{/* The operator's arguments. With a ConfigMap, all but the gates stand there. */}}
{{- define "kuberay-operator.args" -}}
{{- if (.Values.configuration).enabled -}}
- --config
- /etc/kuberay/config.yaml
{{- else -}}
{{- include "kuberay-operator.flags" . | trim }}
{{- end }}
- {{ include "kuberay-operator.featureGates" . | quote }}
{{- end -}}

{{- define "kuberay-operator.featureGates" -}}
{{- $gates := list -}}
{{- range .Values.featureGates -}}
{{- $gates = append $gates (printf "%s=%s" .name (toString .enabled)) -}}
{{- end -}}
{{- with $gates }}--feature-gates={{ join "," . }}{{- end -}}
{{- end -}}

{{- define "kuberay-operator.flags" -}}
{{- with .Values.batchScheduler }}
{{- if .enabled }}
- --enable-batch-scheduler
{{- end }}
{{- with .name }}
- --batch-scheduler={{ . }}
{{- end }}
{{- end }}
{{- with include "kuberay-operator.watchNamespaces" . }}
- --watch-namespace
- {{ . | quote }}
{{- end }}
{{- with include "kuberay-operator.logFile" . }}
- --log-file-path
- {{ . }}
{{- end }}
{{- with (.Values.logging).stdoutEncoder }}
- --log-stdout-encoder
- {{ . }}
{{- end }}
{{- with (.Values.logging).fileEncoder }}
- --log-file-encoder
- {{ . }}
{{- end }}
{{- with include "kuberay-operator.switch" .Values.useKubernetesProxy }}
- --use-kubernetes-proxy={{ . }}
{{- end }}
{{- with include "kuberay-operator.switch" .Values.leaderElectionEnabled }}
- --enable-leader-election={{ . }}
{{- end }}
{{- with include "kuberay-operator.switch" (.Values.metrics).enabled }}
- --enable-metrics={{ . }}
{{- end }}
{{- if hasKey .Values "reconcileConcurrency" }}
- --reconcile-concurrency={{ include "kuberay-operator.reconcileConcurrency" . }}
{{- end }}
{{- with .Values.kubeClient }}
{{- if hasKey . "qps" }}
- --qps={{ include "kuberay-operator.qps" $ }}
{{- end }}
{{- if hasKey . "burst" }}
- --burst={{ include "kuberay-operator.burst" $ }}
{{- end }}
{{- end }}
{{- end -}}
