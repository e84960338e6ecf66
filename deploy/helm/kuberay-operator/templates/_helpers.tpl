{{- define "kuberay-operator.name" -}}
{{- .Values.nameOverride | default .Chart.Name | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "kuberay-operator.fullname" -}}
{{- $name := .Values.nameOverride | default .Chart.Name -}}
{{- $of_release := contains $name .Release.Name | ternary .Release.Name (printf "%s-%s" .Release.Name $name) -}}
{{- .Values.fullnameOverride | default $of_release | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "kuberay-operator.selectorLabels" -}}
app.kubernetes.io/name: {{ include "kuberay-operator.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "kuberay-operator.labels" -}}
{{ include "kuberay-operator.selectorLabels" . }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{- define "kuberay-operator.serviceAccountName" -}}
{{- $made := include "kuberay-operator.on" (.Values.serviceAccount).create -}}
{{- $unnamed := ternary (include "kuberay-operator.fullname" .) "default" (ne $made "") -}}
{{- (.Values.serviceAccount).name | default $unnamed -}}
{{- end -}}

{{/*
Not empty unless the value is false. For values that are on by default: `helm upgrade --reuse-values` brings the values
of a chart that may not have had them.
*/}}
{{- define "kuberay-operator.on" -}}
{{- if ne (toString .) "false" -}}true{{- end -}}
{{- end -}}

{{/* A switch that the operator reads as true or false; empty where it is not set. */}}
{{- define "kuberay-operator.switch" -}}
{{- if not (or (kindIs "invalid" .) (eq (toString .) "")) -}}
{{- has (lower (toString .)) (list "true" "t" "1") -}}
{{- end -}}
{{- end -}}

{{- define "kuberay-operator.image" -}}
{{- $image := .Values.image | default dict -}}
{{- $image.repository | default "quay.io/kuberay/operator" }}:{{ $image.tag | default "nightly" -}}
{{- end -}}

{{/* Namespaces to watch, with commas; empty: all. */}}
{{- define "kuberay-operator.watchNamespaces" -}}
{{- if .Values.watchNamespace -}}
{{- join "," .Values.watchNamespace -}}
{{- else if .Values.singleNamespaceInstall -}}
{{- .Release.Namespace -}}
{{- end -}}
{{- end -}}

{{/* Path of the log file; empty: none. */}}
{{- define "kuberay-operator.logFile" -}}
{{- with .Values.logging -}}
{{- if and .baseDir .fileName -}}{{ .baseDir }}/{{ .fileName }}{{- end -}}
{{- end -}}
{{- end -}}

{{/* Not empty when the gate named by `gate` is enabled. */}}
{{- define "kuberay-operator.gateEnabled" -}}
{{- range .root.Values.featureGates -}}
{{- if and (eq .name $.gate) (eq (include "kuberay-operator.switch" .enabled) "true") -}}true{{- end -}}
{{- end -}}
{{- end -}}

{{/* A number of values.yaml as text, never in exponent form; fails unless it matches. */}}
{{- define "kuberay-operator.number" -}}
{{- $text := toString .value -}}
{{- if and (kindIs "float64" .value) (eq (floor .value) .value) (lt .value 1e15) -}}
{{- $text = printf "%.0f" .value -}}
{{- end -}}
{{- if not (regexMatch .pattern $text) -}}
{{- fail (printf "values.%s must be %s, got %q" .path .what (toString .value)) -}}
{{- end -}}
{{- $text -}}
{{- end -}}

{{- define "kuberay-operator.reconcileConcurrency" -}}
{{- include "kuberay-operator.number" (dict "value" .Values.reconcileConcurrency "path" "reconcileConcurrency"
    "pattern" "^[1-9][0-9]*$" "what" "a positive integer") -}}
{{- end -}}

{{- define "kuberay-operator.qps" -}}
{{- include "kuberay-operator.number" (dict "value" .Values.kubeClient.qps "path" "kubeClient.qps"
    "pattern" "^[0-9]+(\\.[0-9]+)?$" "what" "a valid float number") -}}
{{- end -}}

{{- define "kuberay-operator.burst" -}}
{{- include "kuberay-operator.number" (dict "value" .Values.kubeClient.burst "path" "kubeClient.burst"
    "pattern" "^[0-9]+$" "what" "a non-negative integer") -}}
{{- end -}}

{{/* Not empty when the batch scheduler is `name`; the deprecated switch means any that needs rules. */}}
{{- define "kuberay-operator.usesScheduler" -}}
{{- with .root.Values.batchScheduler -}}
{{- if or .enabled (eq (toString .name) $.name) -}}true{{- end -}}
{{- end -}}
{{- end -}}
