import Testing
import TransferModel
import TransferRPC

struct UnknownFieldTests {
    @Test func refusalsNameWhatIsKnown() {
        func message(_ body: () throws -> Void) -> String {
            do {
                try body()
                return ""
            } catch {
                return (error as? TransferError)?.message ?? "\(error)"
            }
        }
        let task = message {
            _ = try JSONCoding.decode(AddTasks.self, from: Array(#"{"tasks":[{"url":"x","uri":"y"}]}"#.utf8))
        }
        #expect(task.contains("Known here: ") && task.contains("retry"))
        let session = message {
            _ = try JSONCoding.decode(OpenSession.self, from: Array(#"{"id":"s","configuration":{"x":1}}"#.utf8))
        }
        #expect(session.contains("launch"))
        let none = message { _ = try JSONCoding.decode(Nothing.self, from: Array(#"{"x":1}"#.utf8)) }
        #expect(none == "x: no such field; there are none here.")
        let order = message { _ = try JSONCoding.decode(ListTasks.self, from: Array(#"{"order":"x"}"#.utf8)) }
        #expect(order == "order: give one of oldest, newest, queue, finished, activity.")
    }
}
