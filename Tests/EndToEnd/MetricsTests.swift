import TestSupport
import Testing
import TransferModel

extension EndToEnd.Serving {
    /// What a task's client learns about the duration of its requests.
    struct Metrics {
        private static let members: Set<String> = [
            "fetchStart", "domainLookup", "connect", "request", "response", "protocol", "reused", "remote", "local",
            "requestHeaderBytes", "requestBodyBytes", "responseHeaderBytes", "responseBodyBytes", "fetchType",
        ]

        private func metrics(_ task: JSONValue) -> [JSONValue] { task["metrics"]?.arrayValue ?? [] }

        @Test(.timeLimit(.minutes(1)))
        func everyAttemptAndHopHasAnEntryThatOutlivesTheDaemon() async throws {
            var scene = try await Scene()
            scene.origin.serve("/first", .redirect(to: "/second?token=Tops3cret"))
            scene.origin.serve("/second", .status(503), .good(.version(1, size: 5000)))
            let id = try await scene.add("/first")
            let task = try await scene.probe.wait(for: id, "completed")
            let entries = metrics(task)
            #expect(entries.map { $0["responseBodyBytes"]?.integerValue } == [0, 0, 0, 5000], "\(entries)")
            #expect(entries.first?["reused"] == false && entries.last?["reused"] == true)
            #expect(task["metricsDropped"] == nil)
            for entry in entries {
                let names = Set(entry.objectValue?.keys.map { $0 } ?? [])
                #expect(names.isSubset(of: Self.members), "\(names)")
                #expect(entry["protocol"] == "http/1.1" && entry["fetchType"] == "networkLoad")
                #expect(entry["remote"]?.stringValue?.hasPrefix("127.0.0.1:") == true)
                #expect((entry["fetchStart"]?.stringValue).flatMap { Timestamp($0) } != nil)
                let end = (entry["response", "end"]?.stringValue).flatMap { Timestamp($0) }
                #expect(end.map { $0 <= .now() } == true)
            }
            #expect(!"\(task)".contains("Tops3cret"))
            // Lists do not have it.
            #expect(try await scene.probe.call("task.list")["tasks"]?.arrayValue?.first?["metrics"] == nil)
            scene = try await scene.restarted()
            #expect(try await metrics(scene.probe.task(id)) == entries)
        }

        @Test(.timeLimit(.minutes(1)))
        func attemptsBeforeADeathAreKept() async throws {
            var scene = try await Scene()
            scene.origin.serve("/file", .status(503))
            let id = try await scene.add("/file", ["retry": ["firstDelay": 3600, "longestDelay": 3600]])
            let waiting = try await scene.probe.wait(for: id, "waiting")
            #expect(metrics(waiting).count == 1)
            scene = try await scene.restarted()
            scene.origin.serve("/file", .good(.version(1, size: 100)))
            #expect(try await metrics(scene.probe.task(id)) == metrics(waiting))
            try await scene.probe.control("retry", id)
            let task = try await scene.probe.wait(for: id, "completed")
            #expect(metrics(task).count == 2 && metrics(task).first == metrics(waiting).first)
        }

        @Test(.timeLimit(.minutes(1)))
        func aPausedTransferHasItsEntryAndARunningOneThoseThatAreOver() async throws {
            let scene = try await Scene()
            scene.origin.serve("/first", .redirect(to: "/file"))
            scene.origin.serve("/file", .good(.version(1, size: 1 << 20), rate: 50_000))
            let id = try await scene.add("/first")
            try await scene.probe.wait(for: id, bytes: 1000)
            #expect(try await metrics(scene.probe.task(id)).count == 1)
            #expect(try await scene.probe.control("pause", id))
            let paused = try await scene.probe.task(id)
            #expect(paused["state"] == "paused" && metrics(paused).count == 2)
            #expect((metrics(paused).last?["responseBodyBytes"]?.integerValue ?? 0) >= 1000)
        }

        @Test(.timeLimit(.minutes(1)))
        func aRefusedConnectionIsTold() async throws {
            let scene = try await Scene()
            let port = try ListeningSocket.freePort()
            let id = try await scene.probe.add(
                "http://127.0.0.1:\(port)/file", to: scene.file(), ["retry": ["attempts": 1]])
            let task = try await scene.probe.wait(for: id, "failed", "waiting")
            let entry = try #require(metrics(task).first)
            #expect(entry["connect", "end"] != nil && entry["request"] == nil && entry["response"] == nil)
        }

        @Test(.timeLimit(.minutes(1)))
        func theNewestHundredAreKept() async throws {
            let scene = try await Scene()
            scene.origin.serve("/file", .redirect { "/file?\($0)" })
            let url = scene.origin.url("/file")
            var ids: [Int64] = []
            for number in 0..<6 {
                ids.append(try await scene.probe.add(url, to: scene.file("\(number)")))
            }
            // Each attempt of a task in an endless redirect makes 21 requests.
            let id = ids[0]
            for _ in 0..<5 {
                try await scene.probe.wait(for: id, "failed")
                try await scene.probe.control("retry", id)
            }
            let task = try await scene.probe.wait(for: id, "failed")
            #expect(metrics(task).count == 100)
            #expect(task["metricsDropped"] == 26)
            let starts = metrics(task).compactMap { $0["fetchStart"]?.stringValue }
            #expect(starts == starts.sorted())
            #expect(try await metrics(scene.probe.wait(for: ids[1], "failed")).count == 21)
        }

        @Test(.timeLimit(.minutes(1)))
        func dlctlTellsThem() async throws {
            let scene = try await Scene()
            scene.origin.serve("/first", .redirect(to: "/file"))
            scene.origin.serve("/file", .good(.version(1, size: 5000)))
            let id = try await scene.add("/first")
            let task = try await scene.probe.wait(for: id, "completed")
            let shown = try await scene.daemon.dlctl(["show", "--timing", "\(id)"])
            let rows = shown.output.split(separator: "\n").map { $0.split(separator: " ").map(String.init) }
            #expect(shown.status == 0)
            #expect(rows.contains { $0.first == "#" && $0.contains("connect") }, "\(shown)")
            let remote = try #require(metrics(task).first?["remote"]?.stringValue)
            #expect(rows.filter { $0.last == remote && $0.contains("http/1.1") }.map(\.first) == ["1", "2"])
            let json = try await scene.daemon.dlctl(["show", "--timing", "--json", "\(id)"])
            #expect(json.output.contains("\"fetchStart\""))
            try Files.write(scene.file("source"), [1])
            let local = try await scene.probe.add("file://" + scene.file("source"), to: scene.file("copy"))
            try await scene.probe.wait(for: local, "completed")
            let none = try await scene.daemon.dlctl(["show", "--timing", "\(local)"])
            #expect(none.output.contains("Task \(local) has no timing: "), "\(none)")
        }
    }
}
