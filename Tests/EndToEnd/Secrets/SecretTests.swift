import Glibc
import TestSupport
import Testing
import TransferModel

extension EndToEnd.Remembering {
    /// Promise 6: credentials of a task are sent to its server and to nobody else.
    struct Secrets {
        @Test(.timeLimit(.minutes(2)))
        func credentialsAreNowhereButInTheDatabase() async throws {
            let scene = try await Scene()
            let uploads = try UploadServer(PlainRules())
            PlantedSecrets.serve(scene.origin)
            let follower = try await scene.daemon.probe()
            try await follower.call("events.subscribe", ["after": "start", "progressInterval": 0.1])
            try await scene.probe.call(
                "session.open",
                [
                    "id": "s",
                    "configuration": [
                        "httpAdditionalHeaders": [["X-Secret-Key", PlantedSecrets.value(.sessionHeader)]],
                        "proxy": .string(
                            "http://u:\(PlantedSecrets.text(.sessionProxy))@127.0.0.1:\(scene.origin.port)"),
                    ],
                ])
            let specs = try PlantedSecrets.specs(scene.origin, uploads, scene)
            let ids = try await scene.probe.add(specs)
            let inSession = try await scene.probe.add(scene.origin.url("/s"), to: scene.file("s"), session: "s")
            try await settled(ids + [inSession], scene)
            try await decide(scene)
            // They must be in use, or nothing is proven.
            let sent = "\(scene.origin.requests().map { $0.request.headers })"
            let coded = Base64Text.encode(Array("user:\(PlantedSecrets.text(.password))".utf8))
            #expect(sent.contains(coded), "the password was not sent")
            for kind in [
                PlantedSecrets.Kind.bearer, .cookie, .apiKey, .authorization, .customToken, .sessionHeader, .taskCookie,
            ] {
                #expect(sent.contains(PlantedSecrets.text(kind)), "\(kind) was not sent")
            }
            for kind in [PlantedSecrets.Kind.password, .urlPassword, .proxy, .netrc, .bodyText, .formField] {
                #expect(try await scene.daemon.stores(PlantedSecrets.text(kind)) == (kind != .netrc), "\(kind)")
            }

            try await searchWire(ids, scene)
            try await searchCommandLine(ids, scene)
            try await searchProcess(scene)
            // Everything that was sent meanwhile.
            try await scene.probe.call("session.open", ["id": "last"])
            while let bytes = try await follower.nextLine() {
                let line = String(decoding: bytes, as: UTF8.self)
                search(line, "event")
                if line.contains("\"session\":\"last\"") { break }
            }
            search(scene.daemon.log, "log")
            #expect(scene.daemon.log.contains(" debug "), "the log is not at its most talkative")
        }

        /// A password that a client gives in an answer, that is refused, and that the client gives again.
        private func decide(_ scene: Scene) async throws {
            try await scene.probe.call("session.open", ["id": "asking", "configuration": ["asks": ["challenge"]]])
            let id = try await scene.add("/denied", to: "decided", session: "asking")
            for count in 0..<2 {
                var asked = JSONValue.null
                let isAsked = try await eventually {
                    let list = try await scene.probe.call("decision.list", ["tasks": [.integer(id)]])
                    asked = list["decisions"]?.arrayValue?.first ?? .null
                    return asked["previousFailureCount"] == .integer(Int64(count))
                }
                #expect(isAsked, "\(asked)")
                search(try await scene.probe.line("decision.list", [:]), "decision.list")
                let answer: JSONValue = [
                    "id": asked["decision"] ?? .null, "action": "useCredential",
                    "credential": ["username": "user", "password": PlantedSecrets.value(.decidedPassword)],
                ]
                search(try await scene.probe.line("decision.answer", answer), "decision.answer")
            }
            let login = Base64Text.encode(Array("user:\(PlantedSecrets.text(.decidedPassword))".utf8))
            #expect(await eventually { "\(scene.origin.requests("/denied").map(\.request.headers))".contains(login) })
            search(try await scene.probe.line("task.get", ["id": .integer(id)]), "task.get")
        }

        /// Waits until each task has ended, waits for its next attempt, or hangs halfway.
        private func settled(_ ids: [Int64], _ scene: Scene) async throws {
            for id in ids {
                var task = JSONValue.null
                let isSettled = try await eventually {
                    task = try await scene.probe.task(id)
                    let state = task["state"]?.stringValue ?? ""
                    return ["completed", "failed", "waiting"].contains(state) || task["bytesReceived"] == 200_000
                }
                #expect(isSettled, "\(task)")
            }
        }

        private func search(_ text: String, _ what: String) {
            let found = PlantedSecrets.found(in: text)
            #expect(found.isEmpty, "\(found) in \(what): \(text.suffix(3000))")
        }

        private func searchWire(_ ids: [Int64], _ scene: Scene) async throws {
            let probe = scene.probe
            search(try await probe.line("task.list", ["limit": 1000]), "task.list")
            search(try await probe.line("task.list", ["match": "a", "order": "newest"]), "task.list")
            search(try await probe.line("events.list", ["after": "start", "limit": 1000]), "events.list")
            for method in ["session.list", "settings.get", "settings.list", "daemon.info", "daemon.stats"] {
                search(try await probe.line(method, [:]), method)
            }
            search(try await probe.line("session.get", ["id": "s"]), "session.get")
            for id in ids {
                search(try await probe.line("task.get", ["id": .integer(id)]), "task.get")
                let update: JSONValue = [
                    "id": .integer(id), "headers": [["Cookie", PlantedSecrets.value(.cookie)]],
                ]
                search(try await probe.line("task.update", update), "task.update")
            }
            // One task is halfway, and one waits for its next attempt.
            for id in [ids[8], ids[4]] {
                let data =
                    try await probe.call("task.resumeData", ["id": .integer(id)])["resumeData"]?.stringValue ?? ""
                let text = String(decoding: Base64Text.decode(data), as: UTF8.self)
                #expect(text.contains("\"url\""), "\(text)")
                search(text, "resume data")
            }
            // Refusals repeat what they refuse.
            let refused: [[String: JSONValue]] = [
                ["url": .string("http://u:\(PlantedSecrets.text(.urlPassword))@[bad/x")],
                ["url": .string("gopher://u:\(PlantedSecrets.text(.urlPassword))@h/x")],
                ["url": "http://h/x", "headers": [["Cookie", .string(PlantedSecrets.text(.cookie) + "\r\nA: b")]]],
                ["url": "http://h/x", "headers": [[.string("Bad Name"), PlantedSecrets.value(.cookie)]]],
                ["url": "http://h/x", "proxy": .string("nonsense://u:\(PlantedSecrets.text(.proxy))@h:1")],
                ["url": "http://h/x", "bearer": .string(PlantedSecrets.text(.bearer) + "\n")],
                ["url": "http://h/x", "password": [PlantedSecrets.value(.password)]],
                ["url": "http://h/x", "resumeData": PlantedSecrets.value(.password)],
                ["url": "http://h/x", "mirrors": [.string("http://u:\(PlantedSecrets.text(.urlPassword))@[bad/x")]],
            ]
            for spec in refused {
                let line = try await probe.line("task.add", ["tasks": [.object(spec)]])
                #expect(line.contains("\"error\""), "\(spec): \(line)")
                search(line, "refusal")
            }
            // A credential in the wrong place, as a name that is repeated.
            search(
                try await probe.line(
                    "session.open",
                    ["id": "x", "configuration": ["proxy": .string("x://u:\(PlantedSecrets.text(.sessionProxy))@h")]]),
                "refusal")
        }

        private func searchCommandLine(_ ids: [Int64], _ scene: Scene) async throws {
            var commands = [
                ["list"], ["--json", "list"], ["events"], ["--json", "events"], ["session", "list"],
                ["session", "show", "s"], ["stats"], ["info"], ["settings"],
            ]
            for id in ids.prefix(8) {
                commands += [["show", "\(id)"], ["--json", "show", "\(id)"], ["explain", "\(id)"]]
            }
            for command in commands {
                let (status, output) = try await scene.daemon.dlctl(command)
                #expect(status == 0 || status == 1, "\(command): \(output)")
                search(output, command.joined(separator: " "))
            }
        }

        /// Searches the daemon's command line, environment and maps, and files that others may read.
        private func searchProcess(_ scene: Scene) async throws {
            let pid = try #require(scene.daemon.pid)
            for name in ["cmdline", "environ", "comm"] { search(try Files.text("/proc/\(pid)/\(name)"), name) }
            let state = scene.daemon.stateFolder
            #expect(Files.status(state).map { $0.st_mode & 0o777 } == 0o700)
            for name in Files.names(in: state) {
                let mode = try #require(Files.status(state + "/" + name)).st_mode
                guard mode & S_IFMT == S_IFREG else { continue }
                #expect(mode & 0o077 == 0, "\(name) is open to others: \(String(mode, radix: 8))")
            }
            #expect(Files.names(in: state).contains("dld.sqlite"))
            #expect(Files.status(scene.daemon.socket).map { $0.st_mode & 0o777 } == 0o600)
        }

        /// Also the files of the system daemon, whose folder others may pass through.
        @Test(
            .timeLimit(.minutes(1)), .enabled(if: Requirements.isRoot, "a system daemon and other users need root"))
        func theSystemDaemonsFilesAreItsOwn() async throws {
            let house = try await IsolationHouse()
            let probe = try await house.probe(IsolationHouse.anna)
            _ = try await house.add(probe, IsolationHouse.anna, "/x", to: "x")
            let state = house.daemon.stateFolder
            for name in Files.names(in: state) {
                let mode = try #require(Files.status(state + "/" + name)).st_mode
                if mode & S_IFMT == S_IFREG { #expect(mode & 0o077 == 0, "\(name): \(String(mode, radix: 8))") }
            }
            #expect(Files.status(state).map { $0.st_mode & 0o777 } == 0o711)
            for name in ["dld.sqlite", "dld.sqlite-wal", "offsets.journal"] {
                let read = try await Program.run([
                    "setpriv", "--reuid", "\(IsolationHouse.anna)", "--regid", "\(IsolationHouse.anna)",
                    "--clear-groups",
                    "cat", state + "/" + name,
                ])
                #expect(read.status != 0 && read.output.contains("Permission denied"), "\(name): \(read.output)")
            }
        }

        /// A crash leaves neither a file nor registers and memory in the log, whatever limits the daemon was started
        /// with. The daemon ends at once, also if a service manager sent the signal.
        @Test(.timeLimit(.minutes(1)), arguments: ["unlimited", "0"], [SIGSEGV, SIGABRT])
        func aCrashLeavesNoMemoryBehind(_ limit: String, _ signal: Int32) async throws {
            let folder = try TemporaryFolder()
            let daemon = try await DaemonProcess.started(
                wrapper: ["/bin/sh", "-c", "ulimit -c \(limit); cd '\(folder.path)'; exec \"$@\"", "sh"])
            let pid = try #require(daemon.pid)
            let limits = try Files.text("/proc/\(pid)/limits").split(separator: "\n")
            let core = try #require(limits.first { $0.hasPrefix("Max core file size") })
            let soft = core.split(whereSeparator: \.isWhitespace).dropFirst(4).first
            #expect(soft == (limit == "0" ? "0" : "1"), "\(core)")
            daemon.signal(signal)
            #expect(await eventually(within: 20) { !daemon.isRunning })
            #expect(Files.names(in: folder.path).isEmpty)
            #expect(!daemon.log.contains("***"), "\(daemon.log.suffix(1000))")
        }
    }
}
