{{- define "ray-cluster.fullname" -}}
{{- $name := .Values.nameOverride | default .Chart.Name -}}
{{- $of_release := contains $name .Release.Name | ternary .Release.Name (printf "%s-%s" .Release.Name $name) -}}
{{- .Values.fullnameOverride | default $of_release | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "ray-cluster.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{/* Of a group, the fields named by `keys` that are not empty. */}}
{{- define "ray-cluster.fields" -}}
{{- range $key := .keys }}
{{- with index $.group $key }}
{{ $key }}:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
{{- end -}}

{{/* `text` with the map `extra` merged over it; untouched where that is empty. */}}
{{- define "ray-cluster.merged" -}}
{{- if .extra -}}
{{- mergeOverwrite (fromYaml .text) .extra | toYaml -}}
{{- else -}}
{{- .text | trim -}}
{{- end -}}
{{- end -}}

{{/* rayStartParams of a group; initArgs is an old name, and loses. */}}
{{- define "ray-cluster.startParams" -}}
{{- $params := merge dict (.rayStartParams | default dict) (.initArgs | default dict) -}}
{{- with $params }}
rayStartParams:
  {{- range $key, $value := . }}
  {{ $key }}: {{ include "ray-cluster.text" (dict "value" $value) | quote }}
  {{- end }}
{{- end }}
{{- end -}}

{{/* A scalar of values.yaml as text; whole numbers never in exponent form. */}}
{{- define "ray-cluster.text" -}}
{{- if and (kindIs "float64" .value) (eq (floor .value) .value) (lt .value 1e15) -}}
{{- printf "%.0f" .value -}}
{{- else -}}
{{- toString .value -}}
{{- end -}}
{{- end -}}
