import TestSupport
import Testing
import TransferModel

extension EndToEnd.Remembering {
    /// Volatile sessions of two users of one system daemon, with one name.
    @Suite(.enabled(if: Requirements.isRoot, "a system daemon and other users need root"))
    struct VolatileOwners {
        private func code(_ method: String, _ parameters: JSONValue, on probe: RPCProbe) async throws -> String? {
            do {
                try await probe.call(method, parameters)
                return nil
            } catch let failure as RPCFailure {
                return failure.code
            }
        }

        @Test(.timeLimit(.minutes(1)))
        func neitherSeesTheOthersTasks() async throws {
            let house = try await IsolationHouse()
            let (anna, bert, root) = (
                try await house.probe(IsolationHouse.anna), try await house.probe(IsolationHouse.bert),
                try await house.probe(nil)
            )
            house.origin.serve("/volatile", .good(.version(1, size: 100_000)))
            var ids: [Int64] = []
            for probe in [anna, bert] {
                try await probe.call("session.open", ["id": "v", "kind": "default"])
                try await probe.call("events.subscribe", ["after": "now", "progressInterval": 0])
                ids += try await probe.add(
                    [["kind": "data", "stream": true, "url": .string(house.origin.url("/volatile"))]], session: "v")
            }
            for other in [bert, root] {
                for (method, more) in [("task.get", [:]), ("task.body", [:]), ("task.credit", ["bytes": 1])]
                    as [(String, [String: JSONValue])]
                {
                    let parameters = ["id": .integer(ids[0])].merging(more) { $1 }
                    #expect(try await code(method, .object(parameters), on: other) == "task.not_found", "\(method)")
                }
                try await other.call("task.cancel", ["ids": [.integer(ids[0])]])
            }
            // Each user gets its own events and bytes.
            for (probe, id) in zip([anna, bert], ids) {
                try await probe.call("task.credit", ["id": .integer(id), "bytes": 1_000_000])
                var bytes = 0
                while true {
                    let heard = try await probe.nextNotification()
                    guard let content = heard["params"] else { continue }
                    #expect(content["task"] == nil || content["task"]?.integerValue == id, "\(heard)")
                    bytes += Base64Text.decode(content["base64"]?.stringValue ?? "").count
                    if content["type"] == "task.completed" { break }
                }
                #expect(bytes == 100_000)
            }
        }
    }
}
