// SPDX-License-Identifier: Apache-2.0
// The operations that ask what a site itself says: well and sick, and what cannot be told.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "adapters/node/call.h"
#include "adapters/node/node_test_parts.h"
#include "adapters/node/parse_site.h"

namespace sickbay::node {
namespace {

using Ended = OperationEnd::Result;

class Site : public testing::Test {
 protected:
  // Outputs as JSON, or why there are none.
  std::string run(const std::string& name, const char* arguments) {
    const OperationEnd end = Machine(root_).run(name, Json::parse(arguments).value());
    return end.result == Ended::unknown ? "unknown: " + end.text : end.outputs.dump();
  }
  void write(const std::string& file, const std::string& bytes) {
    tree_.write(file, bytes);
    root_ = tree_.path();
  }
  TestFolder tree_;
  std::string root_ = "/";
};

TEST_F(Site, CommandsEndAsTheyEnd) {
  const struct {
    const char* arguments;
    const char* answer;
  } rows[] = {
      {R"({"command": "true"})",
       R"({"command_exit":0,"command_timed_out":false,"command_as_expected":true,"command_missed":"","command_output":""})"},
      {R"({"command": "sh\n-c\necho one; echo two >&2; echo three; exit 3", "expect": "one\n/^thr/\n!two"})",
       R"({"command_exit":3,"command_timed_out":false,"command_as_expected":true,"command_missed":"","command_output":"one"})"},
      {R"({"command": "echo\na  b\n; rm -rf", "expect": "a  b ; rm -rf\n/c/"})",
       R"({"command_exit":0,"command_timed_out":false,"command_as_expected":false,"command_missed":"/c/","command_output":"a  b ; rm -rf"})"},
      {R"({"command": "sh\n-c\nkill -9 $$"})",
       R"({"command_exit":137,"command_timed_out":false,"command_as_expected":true,"command_missed":"","command_output":""})"},
      {R"({"command": "sickbay-no-such-program", "expect": "!x"})",
       R"({"command_exit":127,"command_timed_out":false,"command_as_expected":true,"command_missed":"","command_output":""})"},
      {R"({"command": "sh\n-c\necho $WHO", "environment": "WHO=alice\nPATH=/usr/bin:/bin", "expect": "alice"})",
       R"({"command_exit":0,"command_timed_out":false,"command_as_expected":true,"command_missed":"","command_output":"alice"})"},
      {R"({"command": ""})", "unknown: no command is given"},
      {R"({"command": "true", "expect": "/(/"})", "unknown: the pattern '/(/' is no expression"},
      {R"({"command": "true", "environment": "x"})", "unknown: 'x' is no NAME=VALUE"},
  };
  for (const auto& row : rows) EXPECT_EQ(run("command", row.arguments), row.answer) << row.arguments;
  OperationCall slow;
  slow.operation = "slow";
  slow.run = "builtin:command";
  slow.arguments = Json::object({{"command", "sh\n-c\necho begun; exec tail -f /dev/null"}});
  slow.time_limit = std::chrono::milliseconds(300);
  EXPECT_EQ(
      Machine("/").run(slow).outputs.dump(),
      R"({"command_exit":null,"command_timed_out":true,"command_as_expected":null,"command_missed":"","command_output":"begun"})");
}

// What the paper calls an operation, {O,Z} -> {Z}, of a program that knows nothing of us.
TEST_F(Site, ACommandIsGivenValuesAndGivesValues) {
  const auto ask = [this](const char* arguments, const char* inputs, std::vector<std::string> names) {
    OperationCall call;
    call.operation = "program";
    call.run = "builtin:command";
    call.arguments = Json::parse(arguments).value();
    call.inputs = Json::parse(inputs).value();
    call.input_names = std::move(names);
    call.time_limit = std::chrono::seconds(30);
    const OperationEnd end = Machine("/").run(std::move(call));
    return end.result == Ended::unknown ? "unknown: " + end.text : end.outputs.dump();
  };
  const auto answer = [](int exit, const std::string& line, const std::string& more = "") {
    return fmt::format(
        R"({{"command_exit":{},"command_timed_out":false,"command_as_expected":true,"command_missed":"","command_output":"{}"{}}})",
        exit, line, more);
  };
  // Values of each type, alone and as a part of an argument; what stands in a value is no word of its own.
  EXPECT_EQ(ask(R"({"command": "test\n{found}\n-ge\n{wanted}"})", R"({"found": 7, "wanted": 8})",
                {"found", "wanted"}),
            answer(1, ""));
  EXPECT_EQ(ask(R"({"command": "test\n{found}\n-ge\n{wanted}"})", R"({"found": 8.0, "wanted": 8})",
                {"found", "wanted"}),
            answer(0, ""));
  EXPECT_EQ(ask(R"({"command": "printf\n<%s>\nin={path},{share},{on}\n{path}"})",
                R"({"path": "/a b\n; $(id) {share}", "share": 0.5, "on": true})", {"path", "share", "on"}),
            answer(0, "<in=/a b"));
  EXPECT_EQ(ask(R"({"command": "printf\n%s\n{n}"})", R"({"n": -3})", {"n"}), answer(0, "-3"));
  // Braces that are no input's are the program's.
  EXPECT_EQ(ask(R"({"command": "awk\n{print $1 {n}}", "input": "7 of {n}\n"})", R"({"n": 20})", {"n"}),
            answer(0, "720"));
  EXPECT_EQ(ask(R"({"command": "echo\n{n} {{n} {m} {"})", R"({"n": 1})", {"n"}), answer(0, "1 {1 {m} {"));
  // By a file instead of arguments: standard input.
  EXPECT_EQ(ask(R"({"command": "grep\n-c\n^n", "input": "nodes = {n}\nn\n"})", R"({"n": 4})", {"n"}),
            answer(0, "2"));
  // What it says becomes a value.
  EXPECT_EQ(
      ask(R"({"command": "printf\nwrite\\nrate: 812.5 MB/s\\n", "take": "/rate: ([0-9.]+)/"})", "{}", {}),
      answer(0, "write", R"(,"command_value":"812.5","command_number":812.5)"));
  EXPECT_EQ(ask(R"({"command": "echo\nmodel X9", "take": "/model (.*)/"})", "{}", {}),
            answer(0, "model X9", R"(,"command_value":"X9","command_number":null)"));
  EXPECT_EQ(ask(R"({"command": "echo\nnothing", "take": "/rate: (.*)/"})", "{}", {}),
            answer(0, "nothing", R"(,"command_value":null,"command_number":null)"));
  // An exit code by which it says that it cannot tell, as plug-ins of Nagios do by 3.
  EXPECT_EQ(ask(R"({"command": "sh\n-c\necho no sensor; exit 3", "unknown_exits": "3, 127"})", "{}", {}),
            "unknown: sh ended with 3: it cannot tell: no sensor");
  EXPECT_EQ(ask(R"({"command": "sickbay-no-such-program", "unknown_exits": "3,127"})", "{}", {}),
            "unknown: sickbay-no-such-program ended with 127: it cannot tell");
  EXPECT_EQ(ask(R"({"command": "sh\n-c\nexit 2", "unknown_exits": "3"})", "{}", {}), answer(2, ""));
  // What has no value keeps it from being run.
  EXPECT_EQ(ask(R"({"command": "rm\n-rf\n/x/{n}"})", "{}", {"n"}), "unknown: the input 'n' has no value yet");
  EXPECT_EQ(ask(R"({"command": "rm\n-rf\n/x/{n}"})", R"({"n": null})", {"n"}),
            "unknown: the input 'n' is unknown");
  EXPECT_EQ(ask(R"({"command": "cat\n{file}"})", R"({"file": "--help"})", {"file"}),
            "unknown: the input 'file' is '--help', which the program would take for an option");
  EXPECT_EQ(ask(R"({"command": "echo\n{a}{b}"})", R"({"a": "", "b": "-n"})", {"a", "b"}),
            "unknown: the input 'b' is '-n', which the program would take for an option");
  EXPECT_EQ(ask(R"({"command": "echo\n{z}"})", R"({"z": "a\u0000b"})", {"z"}),
            "unknown: the input 'z' holds a zero byte");
  EXPECT_EQ(ask(R"({"command": "true", "take": "rate*"})", "{}", {}),
            "unknown: the pattern 'rate*' is no expression, and no part can be taken by it");
  EXPECT_EQ(ask(R"({"command": "true", "unknown_exits": "3,x"})", "{}", {}), "unknown: 'x' is no exit code");
}

TEST_F(Site, AScriptOfNhcRunsUnderOurLimits) {
  write("/nhc/site.nhc",
        "site_licenses() {\n"
        "  [ \"$1\" -gt \"$LIMIT\" ] && { die 1 \"$FUNCNAME:  only $LIMIT of $1\"; return 1; }\n"
        "  log all is well\n  return 0\n}\n"
        "site_fails() { return 7; }\n"
        "site_in_a_shell() { ( die 2 inside ); }\n"
        "site_env() { [ \"$NHC_RM.$MARK_OFFLINE\" = slurm.0 ] || die \"$NHC_RM\"; }\n");
  root_ = "/";
  const auto check = [&](const std::string& line, const std::string& settings = "LIMIT=4") {
    Json arguments =
        Json::object({{"line", line}, {"settings", settings}, {"scripts", tree_.path() + "/nhc"}});
    return run("nhc_check", arguments.dump().c_str());
  };
  constexpr const char* kPassed = R"({"nhc_check_failed":false,"nhc_check_text":""})";
  EXPECT_EQ(check("site_licenses 3"), kPassed);
  EXPECT_EQ(check("site_licenses $((LIMIT - 1))"), kPassed);
  EXPECT_EQ(check("site_licenses 9"),
            R"({"nhc_check_failed":true,"nhc_check_text":"site_licenses:  only 4 of 9"})");
  EXPECT_EQ(check("site_fails"), R"({"nhc_check_failed":true,"nhc_check_text":"it ended with 7"})");
  EXPECT_EQ(check("site_in_a_shell"), R"({"nhc_check_failed":true,"nhc_check_text":"inside"})");
  EXPECT_EQ(check("site_env"), kPassed);
  EXPECT_EQ(check("true && site_fails"), R"({"nhc_check_failed":true,"nhc_check_text":"it ended with 7"})");
  // What is not there is no verdict: else a node that lost NHC would go out.
  EXPECT_EQ(check("site_gone 1"), "unknown: there is no such check or command in " + tree_.path() + "/nhc");
  EXPECT_EQ(check("exit 0").substr(0, 43), "unknown: the script ended without a verdict");
}

TEST_F(Site, TestsOfFiles) {
  write("/a/file", "text");
  write("/a/empty", "");
  std::filesystem::create_symlink("file", tree_.path() + "/a/link");
  ::mkfifo((tree_.path() + "/a/pipe").c_str(), 0600);
  std::filesystem::create_directory(tree_.path() + "/tmp");
  ::chmod((tree_.path() + "/tmp").c_str(), 01777);
  ::chmod((tree_.path() + "/a/file").c_str(), 0644);
  const struct {
    const char* tests;
    const char* paths;
    bool negated;
    const char* failed;  // "" : passed
  } rows[] = {
      {"rwxdk", "/tmp", false, ""},
      {"rs", "/a/file\\n/a/link", false, ""},
      {"d", "/tmp\\n/a/file", false, "-d /a/file"},
      {"s", "/a/empty", false, "-s /a/empty"},
      {"x", "/a/file", false, "-x /a/file"},
      {"L", "/a/link", false, ""},
      {"h", "/a/file", false, "-h /a/file"},
      {"p", "/a/pipe", false, ""},
      {"e", "/a/gone", false, "-e /a/gone"},
      {"e", "/a/gone", true, ""},
      {"e", "/a/gone\\n/a/file", true, "-e /a/file"},
      {"f", "/a/*", false, "-f /a/pipe"},
      {"f", "/a/fi*", false, ""},
      {"f", "/b/*", false, "-f /b/*"},
      {"O", "/a/file", false, ""},
  };
  for (const auto& row : rows) {
    const std::string arguments =
        fmt::format(R"({{"tests": "{}", "paths": "{}", "negated": {}}})", row.tests, row.paths, row.negated);
    EXPECT_EQ(
        run("file_test", arguments.c_str()),
        fmt::format(R"({{"file_tests_passed":{},"file_test_failed":"{}"}})", *row.failed == '\0', row.failed))
        << arguments;
  }
  EXPECT_EQ(run("file_test", R"({"tests": "t", "paths": "/a"})"), "unknown: -t is no test of a file");
  EXPECT_EQ(run("file_test", R"({"tests": "e", "paths": "a"})"), "unknown: 'a' is no absolute path");
  EXPECT_EQ(run("file_test", R"({"tests": "e"})"), "unknown: no path is given");
  // A glob as well as a list: of what is left untested nobody can say that it passes.
  for (int i = 0; i < 1000; ++i) write(fmt::format("/many/{}", i), "");
  EXPECT_EQ(run("file_test", R"({"tests": "e", "paths": "/many/*"})"),
            R"({"file_tests_passed":true,"file_test_failed":""})");
  write("/many/1000", "");
  EXPECT_EQ(run("file_test", R"({"tests": "e", "paths": "/many/*"})"), "unknown: over 1000 files are meant");
}

TEST_F(Site, WhatAFileIs) {
  write("/etc/group", "wheel:x:10:\nsite:x:4711:a,b\n");
  write("/f", "12345");
  ::chmod((tree_.path() + "/f").c_str(), 0640);
  ASSERT_EQ(::chown((tree_.path() + "/f").c_str(), 0, 4711), 0) << "tests run as root";
  const Json file = Json::parse(run("file_stat", R"({"path": "/f"})")).value();
  EXPECT_EQ(file["file_exists"], Json(true));
  EXPECT_EQ(file["file_permissions"], Json(0640));
  EXPECT_EQ(file["file_mode"], Json(0100640));
  EXPECT_EQ(file["file_type"], Json("file"));
  EXPECT_EQ(file["file_group"], Json("site"));
  EXPECT_EQ(file["file_user"], Json("0")) << "no /etc/passwd names it";
  EXPECT_EQ(file["file_size"], Json(5));
  EXPECT_LT(file["file_age"].as_int(99), 60);
  EXPECT_GE(file["file_age"].as_int(-99), -1);
  const Json gone = Json::parse(run("file_stat", R"({"path": "/gone"})")).value();
  EXPECT_EQ(gone["file_exists"], Json(false));
  EXPECT_TRUE(gone["file_mode"].is_null());
  root_ = "/";
  const Json null = Json::parse(run("file_stat", R"({"path": "/dev/null"})")).value();
  EXPECT_EQ(fmt::format("{} {} {}", null["file_type"].as_string(), null["file_major"].as_int(),
                        null["file_minor"].as_int()),
            "character device 1 3");
}

TEST_F(Site, ContentsOfFiles) {
  write("/etc/passwd", "root:x:0:0:root:/root:/bin/bash\n  sshd:x:1:1::/:  \n");
  const auto missed = [&](const char* expect, const char* path = "/etc/passwd") {
    const std::string answer =
        run("file_contents", fmt::format(R"({{"path": "{}", "expect": "{}"}})", path, expect).c_str());
    const auto json = Json::parse(answer);
    return json ? (*json)["file_missed"].as_string() : answer;
  };
  EXPECT_EQ(missed("/^root:x:0:0:/\\nsshd:*"), "");
  EXPECT_EQ(missed("/^root:x:0:0:/\\n!sshd:*"), "!sshd:*");
  EXPECT_EQ(missed("/^toor/"), "/^toor/");
  EXPECT_EQ(missed("!/^toor/"), "");
  EXPECT_EQ(missed("!/^toor/", "/etc/gone"), "") << "a file that is not there has no line";
  EXPECT_EQ(missed("*", "/etc/gone"), "*");
  EXPECT_EQ(missed(""), "unknown: no pattern is given");
  EXPECT_EQ(missed("*", "/etc"), "unknown: cannot read /etc: Is a directory");
}

TEST_F(Site, MountsAsTheyShouldBe) {
  write(
      "/proc/self/mounts",
      "rootfs / rootfs rw 0 0\n/dev/sda1 / ext4 ro,relatime 0 0\nnas1:/home /home nfs4 rw,vers=4.2,hard 0 0\n"
      "tmpfs /a\\040b tmpfs rw 0 0\n");
  const auto difference = [&](const char* arguments) {
    const std::string answer = run("mount_match", arguments);
    const auto json = Json::parse(answer);
    if (!json) return answer;
    EXPECT_EQ((*json)["mounted_as_expected"].as_bool(), (*json)["mount_difference"].as_string().empty());
    return (*json)["mount_difference"].as_string();
  };
  EXPECT_EQ(
      difference(R"({"path": "/home", "source": "nas1:/home", "type": "nfs*", "options": "/(^|,)vers=4/"})"),
      "");
  EXPECT_EQ(difference(R"({"path": "/home", "source": "nas2:*"})"), "its source is nas1:/home");
  EXPECT_EQ(difference(R"({"path": "/home", "options": "/hard/\n!/rw/"})"),
            "its options is rw,vers=4.2,hard");
  EXPECT_EQ(difference(R"({"path": "/", "options": "/(^|,)rw($|,)/"})"), "its options is ro,relatime")
      << "the later one";
  EXPECT_EQ(difference(R"({"path": "/a b"})"), "");
  EXPECT_EQ(difference(R"({"path": "/scratch"})"), "it is not mounted");
}

TEST_F(Site, DevicesThatMustBeThere) {
  write("/proc/net/dev", "Inter-|   Receive\n face |bytes\n    lo: 1 2\n  eth1:0 0\n");
  EXPECT_EQ(run("net_device", R"({"device": "eth1", "module": "gm"})"),
            R"({"net_device_present":true,"net_module_loaded":false})")
      << "a kernel without modules";
  write("/proc/modules", "gm 1 0 - Live 0x0\nnfs 1 1 - Live 0x0\n");
  EXPECT_EQ(run("net_device", R"({"device": "eth1"})"),
            R"({"net_device_present":true,"net_module_loaded":null})");
  EXPECT_EQ(run("net_device", R"({"device": "eth2", "module": "gm"})"),
            R"({"net_device_present":false,"net_module_loaded":true})");
  EXPECT_EQ(run("net_device", R"({"device": "lo", "module": "g"})"),
            R"({"net_device_present":true,"net_module_loaded":false})");
  EXPECT_EQ(run("ib_link", "{}"), R"({"ib_links_up":0,"ib_user_access":false,"ib_flaps_new":null})")
      << "a missing adapter is an answer";
  for (const char* port : {"1", "2"}) {
    const std::string folder = std::string("/sys/class/infiniband/mlx5_0/ports/") + port;
    write(folder + "/state", "4: ACTIVE\n");
    write(folder + "/phys_state", *port == '1' ? "5: LinkUp\n" : "3: Disabled\n");
    write(folder + "/rate", "100 Gb/sec (4X EDR)\n");
    write(folder + "/counters/link_downed", "2\n");
  }
  write("/sys/class/infiniband_mad/abi_version", "5\n");
  EXPECT_EQ(run("ib_link", R"({"rate": 100})"),
            R"({"ib_links_up":1,"ib_user_access":true,"ib_flaps_new":null})");
  EXPECT_EQ(run("ib_link", R"({"rate": 40})"),
            R"({"ib_links_up":0,"ib_user_access":true,"ib_flaps_new":null})");
  EXPECT_EQ(run("ib_link", R"({"device": "mlx5_0", "port": 2})"),
            R"({"ib_links_up":0,"ib_user_access":true,"ib_flaps_new":null})");
  Machine machine(tree_.path());
  machine.run("ib_link");
  write("/sys/class/infiniband/mlx5_0/ports/1/counters/link_downed", "5\n");
  EXPECT_EQ(machine.run("ib_link").outputs["ib_flaps_new"], Json(3));
}

TEST_F(Site, ProcessorsByTheirPackages) {
  std::string text;
  for (int i = 0; i < 8; ++i)
    text += fmt::format("processor\t: {}\nphysical id\t: {}\nsiblings\t: 4\ncpu cores\t: 2\n\n", i, i / 4);
  write("/proc/cpuinfo", text);
  EXPECT_EQ(run("cpu_info", "{}"), R"({"cpu_sockets":2,"cpu_cores":4,"cpu_threads":8})");
  write("/proc/cpuinfo", "processor : 0\nprocessor : 1\n");
  EXPECT_EQ(run("cpu_info", "{}"), R"({"cpu_sockets":2,"cpu_cores":2,"cpu_threads":2})");
  write("/proc/cpuinfo", "nothing\n");
  EXPECT_EQ(run("cpu_info", "{}"), "unknown: /proc/cpuinfo lists no processor");
}

TEST_F(Site, SocketsByAllThatIsKnownOfThem) {
  write("/etc/passwd", "root:x:0:0:::\nmunge:x:120:120:::\n");
  write("/proc/net/tcp",
        "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
        "   0: 00000000:0016 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 501 1\n"
        "   1: 0100007F:1AD1 0100007F:D431 01 00000000:00000000 00:00000000 00000000   120        0 502 1\n");
  write("/proc/net/tcp6",
        "  sl  local_address\n"
        "   0: 00000000000000000000000000000000:0016 00000000000000000000000000000000:0000 0A "
        "00000000:00000000 00:00000000 00000000     0        0 503 1\n");
  write("/proc/net/unix",
        "Num       RefCount Protocol Flags    Type St Inode Path\n"
        "0: 00000002 00000000 00010000 0001 01 601 /run/munge/munge.socket.2\n"
        "0: 00000002 00000000 00000000 0002 01 602\n");
  write("/proc/71/comm", "sshd\n");
  std::filesystem::create_directories(tree_.path() + "/proc/71/fd");
  std::filesystem::create_symlink("socket:[501]", tree_.path() + "/proc/71/fd/3");
  const auto count = [&](const char* arguments) {
    const std::string answer = run("sockets", arguments);
    const auto json = Json::parse(answer);
    return json ? std::to_string((*json)["sockets"].as_int()) : answer;
  };
  EXPECT_EQ(count("{}"), "5");
  EXPECT_EQ(count(R"({"protocol": "tcp", "state": "LISTEN", "local": "*:22"})"), "2");
  EXPECT_EQ(count(R"({"protocol": "tcp6"})"), "1");
  EXPECT_EQ(count(R"({"local": "0.0.0.0:22", "program": "sshd"})"), "1");
  EXPECT_EQ(count(R"({"local": ":::22"})"), "1");
  EXPECT_EQ(count(R"({"local": "*:22", "program": "httpd"})"), "0");
  EXPECT_EQ(count(R"({"user": "munge"})"), "1");
  EXPECT_EQ(count(R"({"user": "!root", "protocol": "tcp"})"), "1");
  EXPECT_EQ(count(R"({"remote": "127.0.0.1:54321", "state": "ESTABLISHED"})"), "1");
  EXPECT_EQ(count(R"({"protocol": "unix", "type": "STREAM", "local": "/munge/"})"), "1");
  EXPECT_EQ(count(R"({"device": "no-such-device"})"), "0");
  EXPECT_EQ(count(R"({"local": "/(/"})"), "unknown: the pattern '/(/' is no expression");
}

TEST_F(Site, SocketsOfADeviceOfThisMachine) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(::bind(fd, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(::listen(fd, 1), 0);
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  const std::string local = fmt::format("127.0.0.1:{}", ntohs(address.sin_port));
  const std::string on_lo =
      run("sockets", fmt::format(R"({{"device": "lo", "local": "{}", "state": "LISTEN"}})", local).c_str());
  EXPECT_EQ(on_lo, fmt::format(R"({{"sockets":1,"socket_first":"tcp {} LISTEN"}})", local));
  ::close(fd);
}

TEST_F(Site, ProcessesByNameAndUse) {
  write("/proc/meminfo", "MemTotal: 263842560 kB\n");
  write("/proc/uptime", "7200.00 1.00\n");
  write("/etc/passwd", "root:x:0:0:::\nalice:x:60001:1:::\n");
  const auto process = [&](int pid, int parent, const char* comm, const char* line, int uid, long ticks,
                           long pages) {
    const std::string folder = fmt::format("/proc/{}", pid);
    write(folder + "/stat", fmt::format("{} ({}) S {} 0 0 0 0 0 0 0 0 0 {} 0 0 0 20 0 1 0 100 0 {} 0\n", pid,
                                        comm, parent, ticks, pages));
    write(folder + "/status", fmt::format("Name: {}\nUid:\t{}\t{}\nVmSize:\t 2048 kB\n", comm, uid, uid));
    std::string bytes = line;
    std::ranges::replace(bytes, ' ', '\0');
    write(folder + "/cmdline", bytes);
  };
  process(1, 0, "init", "/sbin/init", 0, 5, 10);
  process(40, 2, "kswapd0", "", 0, 1000, 0);
  process(41, 2, "kswapd1", "", 0, 100, 0);
  process(70, 1, "sshd", "/usr/sbin/sshd -D", 0, 5, 10);
  process(5000, 1, "slurmstepd", "slurmstepd: [17.0]", 0, 5, 10);
  process(5001, 5000, "solver", "/home/alice/solver in.txt", 60001, 360000, 1000000);
  process(5002, 1, "orphan", "./orphan", 60001, 5, 10);
  const auto output = [&](const char* name, const char* arguments, const char* which) {
    const std::string answer = run(name, arguments);
    const auto json = Json::parse(answer);
    return json ? (*json)[which].dump() : answer;
  };
  const auto matched = [&](const char* arguments) {
    return output("process_match", arguments, "processes_matched");
  };
  EXPECT_EQ(matched(R"({"match": "*sshd"})"), "1");
  EXPECT_EQ(matched(R"({"match": "*sshd", "user": "root"})"), "1");
  EXPECT_EQ(matched(R"({"match": "*sshd", "user": "0"})"), "1");
  EXPECT_EQ(matched(R"({"match": "*sshd", "user": "!root"})"), "0");
  EXPECT_EQ(matched(R"({"contains": "sshd -D"})"), "1");
  EXPECT_EQ(matched(R"({"match": "*in.txt"})"), "0");
  EXPECT_EQ(matched(R"({"match": "*in.txt", "whole": true})"), "1");
  EXPECT_EQ(matched(R"({"match": "[[]kswapd?]"})"), "2");
  EXPECT_EQ(output("process_match", R"({"match": "*solver"})", "process_matched_user"), "\"alice\"");
  const auto over = [&](const char* arguments) { return output("process_use", arguments, "processes_over"); };
  EXPECT_EQ(over(R"({"resident": 4000000000, "user": "alice"})"), "1");
  EXPECT_EQ(over(R"({"resident": 4096000000, "user": "alice"})"), "1") << "what reaches a limit is over it";
  EXPECT_EQ(over(R"({"resident": 4096000001, "user": "alice"})"), "0");
  EXPECT_EQ(over(R"({"cpu_seconds": 3600, "match": "*solver"})"), "1");
  EXPECT_EQ(over(R"({"cpu_seconds": 3601, "match": "*solver"})"), "0");
  EXPECT_EQ(over(R"({"virtual": 2097152, "match": "*solver"})"), "1");
  EXPECT_EQ(over(R"({"memory_percent": 1, "match": "*solver"})"), "1");
  EXPECT_EQ(over(R"({"memory_percent": 2, "match": "*solver"})"), "0");
  EXPECT_EQ(over(R"({"cpu_seconds": 1, "match": "*kswapd*"})"), "0") << "users only, unless one asks";
  EXPECT_EQ(over(R"({"cpu_seconds": 1, "match": "*kswapd*", "first_uid": 0})"), "2");
  EXPECT_EQ(run("kswapd", "{}"), R"({"kswapd_threads":2,"kswapd_lowest":1,"kswapd_highest":10})");
  EXPECT_EQ(output("stray_processes", R"({"first_uid": 60001, "except": "bob,60002"})", "stray_pid"), "5002");
  EXPECT_EQ(output("stray_processes", R"({"first_uid": 60001, "except": "alice,60002"})", "stray_processes"),
            "0");
}

// A limit on used space must mean what it means to df, which rounds up.
TEST(Percent, IsDfs) {
  EXPECT_EQ(percent_up(951, 1000).dump(), "96");
  EXPECT_EQ(percent_up(950, 1000).dump(), "95");
  EXPECT_EQ(percent_up(1, 1e9).dump(), "1");
  EXPECT_EQ(percent_up(0, 1000).dump(), "0");
  EXPECT_EQ(percent_up(5, 0).dump(), "0");
}

TEST_F(Site, WhatTheFirmwareTells) {
  write("/usr/sbin/dmidecode",
        "#!/bin/sh\n/bin/cat <<'END'\n# dmidecode 3.4\n\nHandle 0x0000, DMI type 0, 26 bytes\nBIOS "
        "Information\n\tVendor: X\n"
        "\tVersion: 2.4\n\tCharacteristics:\n\t\tISA is supported\n\tROM Size: 16 MB\n\nHandle 0x0011, DMI "
        "type 17, 40 bytes\n"
        "Memory Device\n\tSpeed: 1866 MT/s\n\nEND\n");
  std::filesystem::permissions(tree_.path() + "/usr/sbin/dmidecode", std::filesystem::perms(0755));
  const auto matches = [&](const char* arguments) {
    const std::string answer = run("dmi", arguments);
    const auto json = Json::parse(answer);
    return json ? std::to_string((*json)["dmi_matches"].as_int()) : answer;
  };
  EXPECT_EQ(matches(R"({"match": "BIOS Information: Version: 2.4"})"), "1");
  EXPECT_EQ(matches(R"({"match": "BIOS Information: Version: 2.5"})"), "0");
  EXPECT_EQ(matches(R"({"match": "BIOS Information: Characteristics: ISA is supported"})"), "1");
  EXPECT_EQ(matches(R"({"match": "BIOS Information: ROM Size: 16 MB"})"), "1");
  EXPECT_EQ(matches(R"({"match": "*Speed: 1866*", "type": "Memory Device"})"), "1");
  EXPECT_EQ(matches(R"({"match": "*Speed: 1866*", "type": "17"})"), "1");
  EXPECT_EQ(matches(R"({"match": "*Speed: 1866*", "handle": "0x0000"})"), "0");
  EXPECT_EQ(matches(R"({"match": "/^[[:space:]]Version: 2/", "raw": true})"), "1");
  TestFolder bare;
  root_ = bare.path();
  EXPECT_EQ(matches(R"({"match": "x"})"), "unknown: cannot run 'dmidecode': No such file or directory");
}

TEST_F(Site, MemoryErrorsOfADay) {
  const auto program = [&](const char* name, const std::string& text) {
    write(std::string("/usr/sbin/") + name, "#!/bin/sh\n" + text);
    std::filesystem::permissions(tree_.path() + "/usr/sbin/" + name, std::filesystem::perms(0755));
  };
  program("none", "");
  EXPECT_EQ(run("memory_errors", "{}"),
            "unknown: neither the daemon of mcelog nor rasdaemon tells of memory errors");
  program(
      "ras-mc-ctl",
      "printf 'Memory controller events summary:\\n\\tCorrected on DIMM Label(s): '\"'A1'\"' location: "
      "0:0:0:-1 errors: 12\\n\\tUncorrected on DIMM Label(s): '\"'B1'\"' location: 0:0:0:-1 errors: 1\\n'\n");
  EXPECT_EQ(run("memory_errors", "{}"), R"({"memory_corrected_day":12,"memory_uncorrected_day":1})");
  program("mcelog", "echo 'mcelog: client connect: Connection refused' >&2; exit 1\n");
  EXPECT_EQ(run("memory_errors", "{}"), R"({"memory_corrected_day":12,"memory_uncorrected_day":1})");
  program("mcelog",
          "/bin/cat <<'END'\nMemory errors\nSOCKET 0 CHANNEL 1 DIMM 0\ncorrected memory errors:\n\t325 "
          "total\n\t9 in 24h\n"
          "uncorrected memory errors:\n\t0 total\n\t0 in 24h\nEND\n");
  EXPECT_EQ(run("memory_errors", "{}"), R"({"memory_corrected_day":9,"memory_uncorrected_day":0})");
  program("mcelog", "exit 0\n");
  EXPECT_EQ(run("memory_errors", "{}"), R"({"memory_corrected_day":0,"memory_uncorrected_day":0})");
}

TEST_F(Site, HostsThatAnswer) {
  write("/usr/bin/ping", "#!/bin/sh\necho \"$@\" >> " + tree_.path() +
                             "/asked\n[ \"$9\" != silent ] && [ \"$5\" != silent ]\n");
  std::filesystem::permissions(tree_.path() + "/usr/bin/ping", std::filesystem::perms(0755));
  EXPECT_EQ(run("ping", R"({"hosts": "n1\nn2"})"), R"({"ping_answered":true,"ping_silent":""})");
  EXPECT_EQ(run("ping", R"({"hosts": "n1\nsilent", "ttl": 2, "deadline": 1})"),
            R"({"ping_answered":false,"ping_silent":"silent"})");
  std::ifstream asked(tree_.path() + "/asked");
  const std::string all((std::istreambuf_iterator<char>(asked)), {});
  EXPECT_EQ(all, "-q -n -c 1 n1\n-q -n -c 1 n2\n-q -n -c 1 -t 2 -w 1 n1\n-q -n -c 1 -t 2 -w 1 silent\n");
  EXPECT_EQ(run("ping", R"({"hosts": "-f"})"), "unknown: '-f' is no name of a host");
  EXPECT_EQ(run("ping", "{}"), "unknown: 1 to 100 hosts are asked");
}

TEST_F(Site, OnlyTheKernelsOwnMessagesCount) {
  write("/proc/uptime", "7200.00 1.00\n");
  const auto log = [&](const std::string& text) { write("/dev/kmsg", text); };
  const auto xids = [&](const char* arguments = "{}") {
    const auto json = Json::parse(run("kernel_messages", arguments));
    return json ? (*json)["kernel_xids"].as_int() : -1;
  };
  const std::string xid = "NVRM: Xid (PCI:0000:3b:00): 79, pid=12, GPU has fallen off the bus.\n";
  log("4,1,7100000000,-;" + xid);
  EXPECT_EQ(xids(), 1);
  EXPECT_EQ(xids(R"({"seconds": 60})"), 0) << "100 s ago";
  EXPECT_EQ(xids(R"({"seconds": 200})"), 1);
  log("12,1,7100000000,-;" + xid);
  EXPECT_EQ(xids(), 0) << "a program wrote it into the log: facility 1";
  // A program of this name that crashes: its name begins the kernel's own line.
  log("6,1,7100000000,-;NVRM: Xid[123]: segfault at 0 ip 0 sp 0 error 4 in NVRM: Xid (PCI:0000:3b:00): "
      "79[1+2]\n"
      "6,2,7100000001,-;NVRM: Xid (PCI:[123]: segfault at 0 ip 0 sp 0 error 4\n"
      "4,3,7100000002,-;traps: NVRM: Xid[123] general protection fault ip:0 sp:0 error:0\n");
  EXPECT_EQ(xids(), 0);
  log("3,1,1,-;blk_update_request: I/O error, dev sda, sector 12\n"
      "3,2,1,-;I/O error, dev nvme0n1, sector 5 op 0x0:(READ)\n"
      "3,3,1,-;sd 0:0:0:0: [sda] tag#1 Sense Key : Medium Error [current]\n SUBSYSTEM=scsi\n "
      "DEVICE=+scsi:0:0:0:0\n"
      "2,4,1,-;EXT4-fs error (device sda1): ext4_find_entry:1455: inode #2\n"
      "1,5,1,-;XFS (dm-0): Corruption of in-memory data detected.  Shutting down filesystem\n"
      "2,6,1,-;{1}[Hardware Error]: event severity: corrected\n"
      "2,7,1,-;mce: [Hardware Error]: Machine check events logged\n"
      "3,8,1,-;EDAC MC0: 1 CE memory read error on CPU_SrcID#0_Ha#0 (channel:0 slot:0 page:0x1)\n"
      "3,9,1,-;INFO: task lmp:991 blocked for more than 120 seconds.\n"
      "3,10,1,-;Out of memory: Killed process 12 (lmp) total-vm:1kB\n"
      "6,11,1,-;eth0: link up\nno record\n");
  EXPECT_EQ(
      run("kernel_messages", "{}"),
      R"({"kernel_disk_errors":3,"kernel_filesystem_errors":2,"kernel_hardware_errors":3,"kernel_xids":0,"kernel_hung_tasks":1,"kernel_out_of_memory":1,"kernel_lockups":0,"kernel_pcie_fatal":0,"kernel_gpu_faults":0,"kernel_gpu_warnings":0,"kernel_uncorrected_errors":0,"kernel_link_downs":0,"kernel_link":"","kernel_grave_message":"","kernel_last_message":"Out of memory: Killed process 12 (lmp) total-vm:1kB"})");
  // Lines as kernels and drivers write them.
  struct Line {
    const char* text;
    const char* counted;  // by which outputs, besides kernel_last_message and kernel_grave_message
    bool grave;
  };
  for (
      const Line& row : {
          Line{"NVRM: Xid (PCI:0000:2b:00): 79, GPU has fallen off the bus.", "xids gpu_faults", true},
          Line{"NVRM: Xid (PCI:0000:3b:00): 48, pid='<unknown>', name=<unknown>, An uncorrectable double bit "
               "error (DBE) has been detected on GPU in the framebuffer at partition 5, subpartition 1.",
               "xids gpu_faults", true},
          Line{"NVRM: Xid (PCI:0000:ca:00): 119, pid=2871, name=nvidia-smi, Timeout after 6s of waiting for "
               "RPC "
               "response from GPU0 GSP! Expected function 76 (GSP_RM_CONTROL) (0x20802002 0x4).",
               "xids gpu_faults", true},
          Line{"NVRM: Xid (PCI:0000:10:1c): 63, pid=1896, Row Remapper: New row marked for remapping, reset "
               "gpu "
               "to activate.",
               "xids gpu_warnings", false},
          Line{"NVRM: Xid (PCI:0000:41:00): 94, pid=7194, Contained: SM (0x1). RST: No, D-RST: No",
               "xids gpu_warnings", false},
          Line{
              "NVRM: Xid (PCI:0000:41:00): 31, pid=7194, name=python, Ch 00000008, intr 00000000. MMU Fault: "
              "ENGINE GRAPHICS GPCCLIENT_T1_0 faulted @ 0x7f1c_83000000.",
              "xids", false},
          Line{
              "NVRM: Xid (PCI:0000:41:00): 13, pid=7194, Graphics SM Warp Exception on (GPC 0, TPC 1, SM 0): "
              "Out Of Range Address",
              "xids", false},
          Line{"NVRM: Xid (PCI:0000:41:00): 43, pid=7194, name=python, Ch 00000010", "xids", false},
          Line{"NVRM: Xid (PCI:0000:41:00): 45, pid=7194, name=python, Ch 00000010", "xids", false},
          Line{"NVRM: GPU 0000:2b:00.0: GPU has fallen off the bus.", "gpu_faults", true},
          Line{"NVRM: The NVIDIA GPU 0000:b3:00.0\\x0aNVRM: (PCI ID: 10de:26b5) installed in this system "
               "has\\x0aNVRM: fallen off the bus and is not responding to commands.",
               "gpu_faults", true},
          Line{"NVRM: GPU at PCI:0000:2b:00: GPU-0b11d014-1685-04bd-26ed-5fc0bc1c44ae", "", false},
          Line{"EDAC MC0: 1 UE memory read error on CPU_SrcID#0_MC#0_Chan#1_DIMM#0 (channel:1 slot:0 "
               "page:0x7b7 "
               "offset:0x0 grain:32)",
               "hardware_errors uncorrected_errors", true},
          Line{"{1}[Hardware Error]: event severity: recoverable", "hardware_errors uncorrected_errors",
               true},
          Line{"mce: [Hardware Error]: CPU 14: Machine Check Exception: 5 Bank 7: be00000000800400",
               "hardware_errors uncorrected_errors", true},
          Line{"[Hardware Error]: Corrected error, no action required.", "hardware_errors", false},
          Line{"Memory failure: 0x3f1a2b: recovery action for dirty LRU page: Recovered",
               "hardware_errors uncorrected_errors", true},
          Line{"pcieport 0000:00:03.0: PCIe Bus Error: severity=Uncorrected (Fatal), type=Transaction Layer, "
               "(Requester ID)",
               "pcie_fatal", false},
          Line{"pcieport 0000:00:00.0: PCIe Bus Error: severity=Correctable, type=Physical Layer, (Receiver "
               "ID)",
               "", false},
          Line{"watchdog: BUG: soft lockup - CPU#51 stuck for 22s! [pacd:140354]", "lockups", false},
          Line{"NMI watchdog: BUG: soft lockup - CPU#113 stuck for 22s! [kopald:854]", "lockups", false},
          Line{"rcu: INFO: rcu_sched self-detected stall on CPU", "lockups", false},
          Line{"EXT4-fs (sda2): Remounting filesystem read-only", "filesystem_errors", false},
          Line{"ixgbe 0000:01:00.0 eth0: NIC Link is Down", "link_downs", false},
          Line{"mlx5_core 0000:ab:00.0 mlx5_5: Port: 1 Link DOWN", "link_downs", false},
          Line{"mlx5_core 0000:ab:00.0 mlx5_5: Port: 1 Link ACTIVE", "", false},
      }) {
    log(std::string("3,1,7100000000,-;") + row.text + "\n");
    const auto out = Json::parse(run("kernel_messages", "{}"));
    ASSERT_TRUE(out) << row.text;
    std::string counted;
    for (const auto& [name, value] : out->members())
      if (value.is_int() && value.as_int() > 0) counted += (counted.empty() ? "" : " ") + name.substr(7);
    EXPECT_EQ(counted, row.counted) << row.text;
    EXPECT_EQ((*out)["kernel_grave_message"].as_string() == std::string(row.text).substr(0, 240), row.grave)
        << (*out)["kernel_grave_message"].as_string();
    log(std::string("12,1,7100000000,-;") + row.text + "\n");
    const auto written = Json::parse(run("kernel_messages", "{}"));
    for (const auto& [name, value] : written->members())
      EXPECT_EQ(value.as_int(0), 0) << name << " of a line that a program wrote: " << row.text;
  }
  // Of two devices the one whose link is less steady.
  log("4,1,7100000000,-;tg3 0000:02:00.0 eno1: Link is down\n"
      "4,2,7100000001,-;mlx5_core 0000:ab:00.0 mlx5_5: Port: 1 Link DOWN\n"
      "4,3,7100000002,-;mlx5_core 0000:ab:00.0 mlx5_5: Port: 1 Link DOWN\n"
      "4,4,7100000003,-;tg3[123]: Link is down\n");
  const auto links = Json::parse(run("kernel_messages", "{}"));
  EXPECT_EQ((*links)["kernel_link_downs"].as_int(), 2);
  EXPECT_EQ((*links)["kernel_link"].as_string(), "mlx5_core 0000:ab:00.0 mlx5_5: Port: 1");
}

// Each beginning that a name of 15 characters can have, before what the kernel writes behind it.
TEST(KernelText, NoNameOfAProcessIsAFault) {
  for (const char* name : {"NVRM: Xid (PCI:", "EXT4-fs error (", "EDAC MC0: 1 CE ", "I/O error, dev ",
                           "nvme a: timeout", "[Hardware Error", "mce: [Hardware ", "Buffer I/O erro",
                           "INFO: task a:1 ", "Out of memory: ", "XFS (a): shutdo", "watchdog: BUG: ",
                           "rcu: INFO: rcu_", "Memory failure:", "NVRM: GPU 0000:", "pcieport 0000:0"})
    for (const char* behind : {"[123]: segfault at 0 ip 0 sp 0 error 4 in x on y (channel:0[1+2]",
                               "[7]: bad frame in rt_sigreturn frame"}) {
      EXPECT_FALSE(kind_of_kernel_text(std::string(name) + behind)) << name << behind;
      EXPECT_FALSE(kind_of_kernel_text("traps: " + std::string(name) + "[7] general protection fault"))
          << name;
    }
}

}  // namespace
}  // namespace sickbay::node
