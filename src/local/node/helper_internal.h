// Shared by the files of the helper process; not for the daemon.
//
// The helper is single-threaded and short of ceremony: what cannot be done is reported to the
// daemon as one news line and ends the process.
#pragma once

#include "local/node/helper_spec.h"

#include <sys/types.h>

#include <string>

namespace manta::local::helper {

void send_news(const HelperNews& news);
/// Reports `what` (with errno's text) as this helper's error and ends it.
[[noreturn]] void die(const std::string& what, int exit_code = 128);
[[noreturn]] void die_errno(const std::string& what, int exit_code = 128);
/// SIGKILL for us when our parent dies.
void die_with_parent(std::int64_t parent_pid);

int run_sandbox(const HelperSpec& spec);
int run_container(const HelperSpec& spec);
int run_exec(const HelperSpec& spec);
int run_dial(const HelperSpec& spec);

/// Joins the namespaces ("net", "mnt", …) of a process.
void join_namespaces(std::int64_t pid, std::initializer_list<const char*> names);
void join_cgroups(const std::vector<std::string>& procs_files);

/// Assembles the root, applies the mounts and makes it "/". Called as PID 1 in its own mount
/// namespace.
void enter_root(const HelperSpec& spec);
/// Drops to the credentials and becomes the program; reports why if it cannot. `error_fd` closes at
/// success.
[[noreturn]] void become(const ProcessSpec& process, int error_fd);
/// Starts the program as a child; its pid, after the exec has succeeded. Ends this process
/// otherwise.
pid_t start_program(const ProcessSpec& process);

/// mkdir -p. False with errno.
bool make_folders(const std::string& path, mode_t mode = 0755);
bool write_text(const std::string& path, std::string_view text);

}  // namespace manta::local::helper
