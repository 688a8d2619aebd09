import TestSupport
import Testing
import TransferModel

extension EndToEnd.Serving {
    /// The advice of `dlctl explain` can be followed literally: every command is accepted, and a task that it retries
    /// completes.
    struct Advice {
        private static let size = 1 << 20
        private let resource = Resource.version(1, size: Advice.size)

        /// A download that ended or waits, and a server that can now serve it.
        private struct Patient {
            var scene: Scene
            let id: Int64
            let folder: TemporaryFolder
        }

        /// - Parameter name: of the file, and of the path at the server.
        private func failed(_ scene: Scene, _ name: String) async throws -> Patient {
            scene.origin.serve(
                "/" + name, .good(resource, cutAfter: Self.size / 2), .status(404), .good(resource))
            let id = try await scene.add("/" + name, to: name)
            try await scene.probe.wait(for: id, "failed")
            return try Patient(scene: scene, id: id, folder: TemporaryFolder())
        }

        private func waiting() async throws -> Patient {
            let scene = try await Scene()
            scene.origin.serve(
                "/file", .good(resource, cutAfter: Self.size / 2), .status(503, [("Retry-After", "3600")]),
                .good(resource))
            let id = try await scene.add()
            #expect(
                try await eventually {
                    // Checks the requests first, because the wait between the two looks the same.
                    guard scene.origin.requests("/file").count == 2 else { return false }
                    return try await scene.probe.task(id)["state"] == "waiting"
                })
            return try Patient(scene: scene, id: id, folder: TemporaryFolder())
        }

        // MARK: Doing it

        /// Changes rows of tasks while no daemon runs.
        private func altered(_ scene: Scene, _ assignment: String, _ values: [Int64: String]) async throws -> Scene {
            let script = """
                import sqlite3, sys
                database = sqlite3.connect(sys.argv[1])
                rows = zip(sys.argv[3::2], sys.argv[4::2])
                database.executemany("UPDATE task SET " + sys.argv[2] + " WHERE id = ?", rows)
                database.commit()
                """
            try await scene.daemon.kill()
            let command = ["python3", "-c", script, scene.daemon.stateFolder + "/dld.sqlite", assignment]
            try await Program.require(command + values.flatMap { [$0.value, "\($0.key)"] })
            return try await scene.restarted()
        }

        /// The advice of `explain` in one line; nil if there is nothing to do.
        private func advice(_ patient: Patient) async throws -> String? {
            let (status, output) = try await patient.scene.daemon.dlctl(["explain", "\(patient.id)"])
            #expect(status == 0)
            let lines = output.split(separator: "\n", omittingEmptySubsequences: false)
            guard let first = lines.firstIndex(where: { $0.hasPrefix("Do:") }) else { return nil }
            // The commands follow, each on its own line.
            let commands = lines[(first + 1)...].prefix { $0.hasPrefix(" ") }
            return ([lines[first]] + commands).joined(separator: " ")
        }

        /// The commands in a sentence, in order: each up to the first word that is not an argument.
        private static func commands(in text: String) -> [[String]] {
            let form = /dlctl ((?:session )?[a-z]+)((?: (?:\d+|--?[A-Za-z-]+|[A-Z][A-Z:]*|rename|'[^']*'))*)/
            return text.matches(of: form).map { match in
                let arguments = match.output.2.matches(of: /'([^']*)'|[^ ']+/)
                return match.output.1.split(separator: " ").map { String($0) }
                    + arguments.map { String($0.output.1 ?? $0.output.0) }
            }
        }

        /// The command with real values in place of the words in capitals.
        private func filled(_ command: [String], _ patient: Patient) async throws -> [String] {
            var words: [String] = []
            for word in command {
                switch (words.last, word) {
                case (_, "URL"): words.append(patient.scene.origin.url("/new"))
                case (_, "DIR"): words.append(patient.folder.path)
                case ("--bearer-file", "FILE"), ("--ca-file", "FILE"):
                    try Files.write(patient.folder.file("given"), "given\n")
                    words.append(patient.folder.file("given"))
                case (_, "FILE"): words.append(patient.folder.file("file"))
                case ("--user", "NAME"): words.append("me:secret")
                case (_, "NAME"): words.append("name")
                case (_, "TIME"): words.append("2999-01-01T00:00:00Z")
                case (_, "N"): words.append("5")
                case (_, "ALG:HEX"): words.append("sha-256:" + (try await sha256(of: resource.content)))
                default: words.append(word)
                }
            }
            return words
        }

        /// - Returns: the commands in the advice.
        @discardableResult
        private func follow(_ advice: String, _ patient: Patient) async throws -> [[String]] {
            patient.scene.origin.serve("/new", .good(resource))
            let commands = Self.commands(in: advice)
            for command in commands {
                let words = try await filled(command, patient)
                let (status, output) = try await patient.scene.daemon.dlctl(words)
                #expect(status == 0, "\(words): \(output)")
            }
            return commands
        }

        private func expectCompletion(_ patient: Patient) async throws {
            let task = try await patient.scene.probe.wait(for: patient.id, "completed", "failed")
            #expect(task["state"] == "completed", "\(task)")
            #expect(resource.content.matches(task["file"]?.stringValue ?? ""))
        }

        // MARK: Causes

        /// Whatever the cause of a failure: the commands work, and a retried task resumes from its bytes.
        @Test(.timeLimit(.minutes(5)))
        func adviceOnACauseCanBeFollowed() async throws {
            var scene = try await Scene()
            var patients: [ErrorCode: Patient] = [:]
            for code in ErrorCode.allCases { patients[code] = try await failed(scene, code.rawValue) }
            var errors: [Int64: String] = [:]
            for (code, patient) in patients {
                errors[patient.id] = "{\"code\":\"\(code.rawValue)\",\"message\":\"It failed.\"}"
            }
            scene = try await altered(scene, "error = ?", errors)
            for code in ErrorCode.allCases {
                guard var patient = patients[code] else { continue }
                patient.scene = scene
                do { try await expectHelp(patient, code) } catch { Issue.record(error, "\(code)") }
            }
        }

        private func expectHelp(_ patient: Patient, _ code: ErrorCode) async throws {
            let advice = try #require(try await advice(patient), "\(code)")
            let commands = try await follow(advice, patient)
            guard commands.contains(where: { $0.first == "retry" }) else {
                // Nobody can do anything about this task, or another task is meant.
                #expect(Self.withoutRetry.contains(code), "\(code): \(advice)")
                return
            }
            #expect(!Self.withoutRetry.contains(code), "\(code)")
            try await expectCompletion(patient)
            #expect(try await patient.scene.restartCodes(patient.id) == [], "\(code)")
        }

        /// Causes of refusals, which no task fails with; conditions that pass by themselves; and causes after which the
        /// task must be added again or reported.
        private static let withoutRetry: Set<ErrorCode> = [
            .badField, .unknownField, .tooLarge, .unsupported, .sessionNotFound, .sessionInvalidated, .sessionInUse,
            .taskNotFound, .taskWrongState, .decisionGone, .tokenReused, .diskFull, .diskQuota, .diskIO,
            .validatorChanged, .rpcMalformed,
            .rpcUnknownMethod, .cacheMiss, .limitReached, .shuttingDown, .stateNewer, .internal,
        ]

        /// The bytes that are there are kept, wherever the advice sends the file.
        @Test(.timeLimit(.minutes(1)))
        func whatIsInTheWayOfAFileCanBeAvoided() async throws {
            let scene = try await Scene()
            scene.origin.serve("/file", .good(resource))
            try Files.write(scene.file(), "mine")
            let id = try await scene.add("/file", to: "file", ["conflictPolicy": "fail"])
            let failed = try await scene.probe.wait(for: id, "failed")
            #expect(failed.errorCode == "destination.exists")
            #expect(failed["bytesReceived"] == .integer(Int64(Self.size)))
            let patient = Patient(scene: scene, id: id, folder: try TemporaryFolder())
            try await follow(try #require(try await advice(patient)), patient)
            try await expectCompletion(patient)
            #expect(try Files.text(scene.file()) == "mine")
            #expect(scene.names == ["file", "file (1)"])
            #expect(scene.origin.requests("/file").count == 1)
        }

        @Test(.timeLimit(.minutes(1)))
        func aDeadlineThatHasPassedCanBeMoved() async throws {
            let scene = try await Scene()
            scene.origin.serve("/file", .good(resource))
            let id = try await scene.add(
                "/file", to: "file", ["startPaused": true, "deadlineAt": "2020-01-01T00:00:00Z"])
            #expect(try await scene.probe.wait(for: id, "failed").errorCode == "deadline.exceeded")
            let patient = Patient(scene: scene, id: id, folder: try TemporaryFolder())
            try await follow(try #require(try await advice(patient)), patient)
            try await expectCompletion(patient)
        }

        // MARK: States

        @Test(.timeLimit(.minutes(1)), arguments: WaitReason.allCases)
        func adviceOnAWaitCanBeFollowed(_ reason: WaitReason) async throws {
            var patient = try await waiting()
            patient.scene = try await altered(
                patient.scene, "error = NULL, reason = ?", [patient.id: reason.rawValue])
            // No service says that its network or power forbids it.
            if [.metered, .power, .portal].contains(reason) { return try await expectCompletion(patient) }
            guard let advice = try await advice(patient) else {
                // Disk and network are available, and the daemon has noticed that.
                #expect(reason == .disk || reason == .network)
                return try await expectCompletion(patient)
            }
            let commands = try await follow(advice, patient)
            switch reason {
            case .retry, .network, .schedule: #expect(!commands.isEmpty)
            // That command shows the question and how to answer it.
            case .authentication, .decision: return #expect(commands == [["decisions"]])
            // Only a disk ends this one.
            case .disk: return #expect(commands.isEmpty)
            case .metered, .power, .portal: break
            }
            try await expectCompletion(patient)
        }

        @Test(.timeLimit(.minutes(1)), arguments: ["pause", "cancel"])
        func adviceOnWhatAClientStoppedCanBeFollowed(_ method: String) async throws {
            let patient = try await waiting()
            #expect(try await patient.scene.probe.control(method, patient.id))
            try await follow(try #require(try await advice(patient)), patient)
            // Its host asked for a pause, which is explained next.
            let (_, explanation) = try await patient.scene.daemon.dlctl(["explain", "\(patient.id)"])
            try await follow(explanation, patient)
            try await expectCompletion(patient)
        }

        @Test(.timeLimit(.minutes(1)))
        func aFullDaemonCanBeGivenMoreSlots() async throws {
            let scene = try await Scene()
            #expect(try await scene.daemon.dlctl(["limit", "--tasks", "1"]).status == 0)
            scene.origin.serve("/slow", .stalling(resource, after: 100))
            scene.origin.serve("/file", .good(resource))
            let slow = try await scene.add("/slow", to: "slow")
            try await scene.probe.wait(for: slow, "running")
            let patient = Patient(scene: scene, id: try await scene.add(), folder: try TemporaryFolder())
            let commands = try await follow(try #require(try await advice(patient)), patient)
            #expect(commands.first?.first == "limit")
            try await expectCompletion(patient)
        }
    }
}
