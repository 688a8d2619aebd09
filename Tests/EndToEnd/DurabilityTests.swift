import TestSupport
import Testing
import TransferModel

extension EndToEnd.Surviving {
    /// Promises 1 and 5: what was answered is stored, and no event is lost.
    struct Durability {
        @Test(.timeLimit(.minutes(1)))
        func aThousandTasksOutliveAKillRightAfterTheAnswer() async throws {
            var scene = try await Scene()
            let specs = (0..<1000).map { number -> JSONValue in
                [
                    "url": .string(scene.origin.url("/\(number)")), "startPaused": true,
                    "destination": ["path": .string(scene.file("\(number)"))],
                ]
            }
            let ids = try await scene.probe.add(specs)
            scene = try await scene.restarted()
            var found: [Int64] = []
            var cursor: JSONValue?
            repeat {
                var parameters: [String: JSONValue] = ["limit": 400]
                parameters["cursor"] = cursor
                let page = try await scene.probe.call("task.list", .object(parameters))
                found += (page["tasks"]?.arrayValue ?? []).compactMap { $0["id"]?.integerValue }
                cursor = page["nextCursor"]
            } while cursor != nil && cursor != .null
            #expect(found.count == 1000)
            #expect(Set(found) == Set(ids))
        }

        @Test(.timeLimit(.minutes(1)))
        func addingIsAllOrNothing() async throws {
            let scene = try await Scene()
            let good: JSONValue = [
                "url": .string(scene.origin.url("/a")), "destination": ["path": .string(scene.file("a"))],
            ]
            await #expect(throws: RPCFailure.self) {
                try await scene.probe.add([good, ["url": "http://bad url/", "destination": ["path": "/tmp/b"]]])
            }
            #expect(try await scene.probe.call("task.list")["tasks"]?.arrayValue?.isEmpty == true)
            #expect(scene.origin.requests().isEmpty)
        }

        @Test(.timeLimit(.minutes(2)))
        func anAbsentSubscriberGetsEveryCompletionOnceAndInOrder() async throws {
            var scene = try await Scene()
            scene.origin.serveEverything(.good(.version(1, size: 2000)))
            let types: JSONValue = ["task.completed"]
            try await scene.probe.call("events.subscribe", ["subscriber": "app", "types": types])
            // The client that subscribed goes away with its connection.
            scene = try await scene.restarted()

            var ids: [Int64] = []
            for number in 0..<20 {
                ids.append(try await scene.add("/\(number)", to: "\(number)"))
                if number == 9 {
                    for id in ids { try await scene.probe.wait(for: id, "completed") }
                    scene = try await scene.restarted()
                }
            }
            for id in ids { try await scene.probe.wait(for: id, "completed") }
            scene = try await scene.restarted()

            let subscriber = try await scene.daemon.probe()
            try await subscriber.call("events.subscribe", ["subscriber": "app", "types": types])
            var received: [JSONValue] = []
            while received.count < 20 { received.append(try await subscriber.nextEvent()) }
            #expect(Set(received.compactMap { $0["task"]?.integerValue }) == Set(ids))
            let numbers = received.compactMap { $0["sequence"]?.integerValue }
            #expect(numbers == numbers.sorted() && Set(numbers).count == 20)

            try await subscriber.call(
                "events.ack", ["subscriber": "app", "sequence": .integer(numbers[9])])
            let second = try await scene.daemon.probe()
            try await second.call("events.subscribe", ["subscriber": "app", "types": types])
            for number in numbers.dropFirst(10) {
                #expect(try await second.nextEvent()["sequence"]?.integerValue == number)
            }
        }

        @Test(.timeLimit(.minutes(1)))
        func theLogHasNoHoleAcrossKills() async throws {
            var scene = try await Scene()
            scene.origin.serveEverything(.good(.version(1, size: 2000)))
            for round in 0..<3 {
                let ids = try await scene.probe.add(
                    (0..<30).map { number in
                        [
                            "url": .string(scene.origin.url("/\(round)-\(number)")),
                            "destination": ["path": .string(scene.file("\(round)-\(number)"))],
                        ]
                    })
                try await scene.probe.wait(for: ids[5], "completed")
                scene = try await scene.restarted()
            }
            let numbers = try await scene.probe.storedEvents().compactMap { $0["sequence"]?.integerValue }
            #expect(numbers == Array(1...Int64(numbers.count)))
        }

        @Test(.timeLimit(.minutes(1)))
        func replayAndLiveMeetWithoutAGapOrARepeat() async throws {
            let scene = try await Scene()
            scene.origin.serveEverything(.good(.version(1, size: 500)))
            let specs = { (range: Range<Int>) -> [JSONValue] in
                range.map { number in
                    [
                        "url": .string(scene.origin.url("/\(number)")),
                        "destination": ["path": .string(scene.file("\(number)"))],
                    ]
                }
            }
            var ids = try await scene.probe.add(specs(0..<50))
            let subscriber = try await scene.daemon.probe()
            try await subscriber.call("events.subscribe", ["after": "start", "progressInterval": 0])
            ids += try await scene.probe.add(specs(50..<100))
            var expected: Int64 = 1
            var completed: Set<Int64> = []
            while completed.count < ids.count {
                let event = try await subscriber.nextEvent()
                guard let sequence = event["sequence"]?.integerValue else { continue }
                #expect(sequence == expected)
                expected = sequence + 1
                if event["type"] == "task.completed", let task = event["task"]?.integerValue { completed.insert(task) }
            }
            #expect(completed == Set(ids))
        }

        @Test(.timeLimit(.minutes(3)))
        func killsAtRandomInstantsNeitherLoseNorRepeatAnything() async throws {
            var scene = try await Scene()
            let count = 150
            let contents = (0..<count).map { Content(seed: UInt64($0), size: 1000 + $0 * 517) }
            for (number, content) in contents.enumerated() {
                let resource = Resource(content, etag: "\"\(number)\"")
                let isSlow = number % 5 == 0
                scene.origin.serve(
                    "/\(number)",
                    number % 3 == 0
                        ? .chunked(resource, isEnded: true) : .good(resource, rate: isSlow ? 200_000 : nil))
            }
            let ids = try await scene.probe.add(
                (0..<count).map { number in
                    [
                        "url": .string(scene.origin.url("/\(number)")), "retry": ["firstDelay": 0.05],
                        "destination": ["path": .string(scene.file("\(number)"))],
                    ]
                })
            for _ in 0..<12 {
                try await Task.sleep(for: .milliseconds(Int.random(in: 1...150)))
                scene = try await scene.restarted()
            }
            for id in ids { try await scene.probe.wait(for: id, "completed") }
            #expect(scene.names == (0..<count).map(String.init).sorted())
            for (number, content) in contents.enumerated() { #expect(content.matches(scene.file("\(number)"))) }
            let events = try await scene.probe.storedEvents()
            let completed = events.filter { $0["type"] == "task.completed" }.compactMap { $0["task"]?.integerValue }
            #expect(completed.count == count)
            #expect(Set(completed) == Set(ids))
            let numbers = events.compactMap { $0["sequence"]?.integerValue }
            #expect(numbers == Array(1...Int64(numbers.count)))
        }

        @Test(.timeLimit(.minutes(1)))
        func progressIsToldWithoutNumbersAndNeverStored() async throws {
            let scene = try await Scene()
            let size = 4 << 20
            scene.origin.serve("/file", .good(.version(1, size: size), rate: 2 << 20))
            let subscriber = try await scene.daemon.probe()
            try await subscriber.call("events.subscribe", ["after": "now", "progressInterval": 0.1])
            let id = try await scene.add()
            let events = try await subscriber.events(until: "task.completed")
            let progress = events.filter { $0["type"] == "task.progress" }
            #expect(progress.count > 2)
            #expect(progress.allSatisfy { $0["sequence"] == nil && $0["task"]?.integerValue == id })
            let bytes = progress.compactMap { $0["bytesReceived"]?.integerValue }
            #expect(bytes.count == progress.count)
            #expect(bytes == bytes.sorted())
            #expect(try await scene.probe.storedEvents().allSatisfy { $0["type"] != "task.progress" })
        }

        @Test(.timeLimit(.minutes(3)))
        func aSubscriberThatNeverReadsHindersNobody() async throws {
            let scene = try await Scene()
            scene.origin.serveEverything(.good(.version(1, size: 2000)))
            try await scene.probe.call("settings.set", ["maximumConcurrentTasksPerHost": 32])
            let deaf = try await scene.daemon.probe()
            try await deaf.send(
                line: [
                    "jsonrpc": "2.0", "id": 1, "method": "events.subscribe",
                    "params": ["after": "start", "progressInterval": 0.1],
                ])
            let before = try scene.daemon.residentMemory()
            for batch in 0..<4 {
                _ = try await scene.probe.add(
                    (0..<500).map { number in
                        [
                            "url": .string(scene.origin.url("/\(batch)-\(number)")),
                            "destination": ["path": .string(scene.file("\(batch)-\(number)"))],
                        ]
                    })
            }
            let done = try await eventually(within: 150, every: 0.2) {
                let stats = try await scene.probe.call("daemon.stats")
                return stats["tasks", "completed"]?.integerValue == 2000
            }
            #expect(done)
            #expect(scene.names.count == 2000)
            let growth = try scene.daemon.residentMemory() - before
            #expect(growth < 128 << 20)
            withExtendedLifetime(deaf) {}
        }

        @Test(.timeLimit(.minutes(1)))
        func stoppingIsOrderlyAndTheNextDaemonGoesOn() async throws {
            let scene = try await Scene()
            let resource = Resource.version(1, size: 8 << 20)
            scene.origin.serve("/file", .stalling(resource, at: 6 << 20, rate: 4 << 20), .good(resource))
            let id = try await scene.add()
            try await scene.probe.wait(for: id, bytes: 2 << 20)
            #expect(try await scene.daemon.terminate() == 0)
            try await scene.daemon.start()
            let probe = try await scene.daemon.probe()
            try await probe.wait(for: id, "completed")
            #expect(resource.content.matches(scene.file()))
            #expect((scene.origin.requests("/file").last?.rangeStart ?? 0) >= 2 << 20)
        }

        @Test(.timeLimit(.minutes(1)))
        func oneStateFolderHasOneDaemon() async throws {
            let first = try await DaemonProcess.started()
            let second = try DaemonProcess(stateFolder: first.stateFolder)
            await #expect(throws: SupportError.self) { try await second.start() }
            let pid = try #require(first.pid)
            #expect(second.log.contains("\(pid)"))
            #expect(first.isRunning)
        }
    }
}
