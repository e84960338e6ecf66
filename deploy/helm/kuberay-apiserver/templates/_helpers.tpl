{{- define "kuberay-apiserver.chartName" -}}
{{- .Values.nameOverride | default .Chart.Name | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "kuberay-apiserver.fullname" -}}
{{- $name := .Values.nameOverride | default .Chart.Name -}}
{{- $of_release := contains $name .Release.Name | ternary .Release.Name (printf "%s-%s" .Release.Name $name) -}}
{{- .Values.fullnameOverride | default $of_release | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "kuberay-apiserver.labels" -}}
app.kubernetes.io/name: {{ include "kuberay-apiserver.chartName" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{- define "kuberay-apiserver.selectorLabels" -}}
app.kubernetes.io/component: {{ include "kuberay-apiserver.chartName" . }}
app.kubernetes.io/name: {{ .Release.Name }}
{{- end -}}

{{/*
Values whose absence means what values.yaml has: `helm upgrade --reuse-values` brings the values of a chart that may
not have had them.
*/}}
{{- define "kuberay-apiserver.name" -}}
{{- .Values.name | default "kuberay-apiserver" -}}
{{- end -}}

{{- define "kuberay-apiserver.serviceAccountName" -}}
{{- (.Values.serviceAccount).name | default "kuberay-apiserver" -}}
{{- end -}}

{{- define "kuberay-apiserver.on" -}}
{{- if ne (toString .) "false" -}}true{{- end -}}
{{- end -}}

{{/* Both lists are `list: […]`, since fromYaml answers a map. */}}
{{- define "kuberay-apiserver.containerPorts" -}}
{{- $http := dict "name" "http" "containerPort" 8888 "protocol" "TCP" -}}
{{- $grpc := dict "name" "grpc" "containerPort" 8887 "protocol" "TCP" -}}
{{- dict "list" (.Values.containerPort | default (list $http $grpc)) | toYaml -}}
{{- end -}}

{{- define "kuberay-apiserver.servicePorts" -}}
{{- $http := dict "name" "http" "port" 8888 "targetPort" 8888 -}}
{{- $rpc := dict "name" "rpc" "port" 8887 "targetPort" 8887 -}}
{{- dict "list" ((.Values.service).ports | default (list $http $rpc)) | toYaml -}}
{{- end -}}

{{- define "kuberay-apiserver.httpPort" -}}
{{- ((.Values.security).env).HTTP_LOCAL_PORT | default 8988 -}}
{{- end -}}

{{- define "kuberay-apiserver.grpcPort" -}}
{{- ((.Values.security).env).GRPC_LOCAL_PORT | default 8987 -}}
{{- end -}}

{{/* Port of the Service's `port` behind it: the proxy's where there is one. */}}
{{- define "kuberay-apiserver.targetPort" -}}
{{- if not .root.Values.security -}}
{{- .port.targetPort -}}
{{- else -}}
{{- include (ternary "kuberay-apiserver.httpPort" "kuberay-apiserver.grpcPort" (eq .port.name "http")) .root -}}
{{- end -}}
{{- end -}}

{{/* What `kind` and `name` allow, for the ServiceAccount: dict root, binding, kind, role. */}}
{{- define "kuberay-apiserver.binding" -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ .kind }}Binding
metadata:
  name: {{ .binding }}
  {{- if eq .kind "Role" }}
  namespace: {{ .root.Release.Namespace }}
  {{- end }}
  labels:
    {{- include "kuberay-apiserver.labels" .root | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: {{ .kind }}
  name: {{ .role }}
subjects:
  - kind: ServiceAccount
    name: {{ include "kuberay-apiserver.serviceAccountName" .root }}
    namespace: {{ .root.Release.Namespace }}
{{- end -}}
