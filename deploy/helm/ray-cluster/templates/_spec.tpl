{{- define "ray-cluster.spec" -}}
{{- with (.Values.head).rayVersion }}
rayVersion: {{ toString . | quote }}
{{- end }}
{{- if (.Values.head).enableInTreeAutoscaling }}
enableInTreeAutoscaling: true
{{- end }}
{{- with (.Values.head).autoscalerOptions }}
autoscalerOptions:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.gcsFaultTolerance }}
{{- if .enabled }}
gcsFaultToleranceOptions:
  {{- range $key := list "redisAddress" "externalStorageNamespace" }}
  {{- with index $.Values.gcsFaultTolerance $key }}
  {{ $key }}: {{ . | quote }}
  {{- end }}
  {{- end }}
  {{- include "ray-cluster.fields" (dict "group" . "keys" (list "redisUsername" "redisPassword")) | nindent 2 }}
{{- end }}
{{- end }}
headGroupSpec:
  {{- include "ray-cluster.merged" (dict "text" (include "ray-cluster.headGroup" .) "extra" (.Values.head).extraGroupSpec) | nindent 2 }}
{{- with include "ray-cluster.workerGroups" . | trim }}
workerGroupSpecs:
  {{- . | nindent 2 }}
{{- else }}
workerGroupSpecs: []
{{- end }}
{{- end -}}

{{- define "ray-cluster.headGroup" -}}
{{- $head := .Values.head | default dict }}
{{- with (.Values.service).type }}
serviceType: {{ . }}
{{- end }}
{{- include "ray-cluster.fields" (dict "group" $head "keys" (list "headService")) }}
{{- include "ray-cluster.startParams" $head }}
template:
  {{- include "ray-cluster.podTemplate" (dict "root" . "group" $head "container" "ray-head") | nindent 2 }}
{{- end -}}
