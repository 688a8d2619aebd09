import FoundationEssentials
import TestSupport
import Testing
import TransferModel

extension EndToEnd {
    /// What docs/protocol.md says about a client that does not read.
    @Test(.timeLimit(.minutes(4))) func aSubscriberThatDoesNotReadIsDroppedAndLosesNothing() async throws {
        let scene = try await Scene()
        let root = #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
        #expect(try Files.text("/\(root)/docs/protocol.md").contains("takes no byte for 60 s"))
        let subscriber = try await scene.daemon.probe()
        try await subscriber.call("events.subscribe", ["after": "start", "subscriber": "app", "progressInterval": 0])
        let before = try scene.daemon.residentMemory()
        let batch = (0..<1000).map { number -> JSONValue in
            [
                "url": .string(scene.origin.url("/\(number)")), "startPaused": true,
                "destination": ["path": .string(scene.file("\(number)"))],
            ]
        }
        for _ in 0..<10 { try await scene.probe.call("task.add", ["tasks": .array(batch)]) }
        #expect(try scene.daemon.residentMemory() - before < 64 << 20)
        let isDropped = await eventually(within: 150) {
            scene.daemon.log.contains("dropping a subscriber that does not read")
        }
        #expect(isDropped)
        // Reads what the kernel held, to the end of the connection.
        var numbers: [Int64] = []
        while let line = try await subscriber.nextLine() {
            let event = try ForeignJSON.value(line)
            if let number = event["params", "sequence"]?.integerValue { numbers.append(number) }
        }
        let last = try #require(numbers.last)
        let head = try #require(
            try await scene.probe.call("events.list", ["after": "now", "limit": 1])["head"]?.integerValue)
        #expect(last < head)
        let again = try await scene.daemon.probe()
        try await again.call(
            "events.subscribe", ["after": .integer(last), "subscriber": "app", "progressInterval": 0])
        while numbers.last.map({ $0 < head }) ?? true {
            if let number = try await again.nextEvent()["sequence"]?.integerValue { numbers.append(number) }
        }
        #expect(numbers == Array(1...head))
    }
}
