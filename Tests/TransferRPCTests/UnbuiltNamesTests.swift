import Testing
import TransferModel
import TransferRPC

struct UnbuiltNamesTests {
    @Test func everyNameInTheTableIsRefused() {
        #expect(SessionConfiguration.shape.rows.count { !$0.isBuilt } == 3)
    }

    @Test(arguments: [
        "\"isDiscretionary\":true", "\"allowsExpensiveNetworkAccess\":false",
        "\"allowsConstrainedNetworkAccess\":false",
    ])
    func refusesFieldsOfSessionsByName(_ member: String) throws {
        let text = "{\"id\":\"s\",\"configuration\":{\(member)}}"
        let parameters = try JSONCoding.decode(OpenSession.self, from: Array(text.utf8))
        let configuration = try #require(parameters.configuration)
        let error = try #require(throws: TransferError.self) {
            try configuration.checkIsBuilt(path: "configuration")
        }
        #expect(error.code == .unsupported)
        #expect(error.message.hasPrefix("configuration.\(member.split(separator: "\"")[0]): "))
    }

    @Test func refusalsNameWhatIsBuiltOnly() {
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
        #expect(session.contains("launch") && !session.contains("isDiscretionary"))
        let none = message { _ = try JSONCoding.decode(Nothing.self, from: Array(#"{"x":1}"#.utf8)) }
        #expect(none == "x: no such field; there are none here.")
        let order = message { _ = try JSONCoding.decode(ListTasks.self, from: Array(#"{"order":"x"}"#.utf8)) }
        #expect(order == "order: give one of oldest, newest, queue, finished, activity.")
    }

    @Test func acceptsWhatIsBuilt() {
        #expect(throws: Never.self) { try SessionConfiguration().checkIsBuilt(path: "configuration") }
    }
}
