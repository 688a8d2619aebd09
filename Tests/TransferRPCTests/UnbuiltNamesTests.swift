import Testing
import TransferModel
import TransferRPC

struct UnbuiltNamesTests {
    @Test(arguments: [
        "\"requestCachePolicy\":\"x\""
    ])
    func refusesFieldsOfTasksByName(_ member: String) throws {
        let text = "{\"tasks\":[{\"url\":\"https://example.org\",\(member)}]}"
        let parameters = try WireCoding.parameters(of: AddTasks.self, from: Array(text.utf8))
        let error = try #require(throws: TransferError.self) {
            try UnbuiltNames.check(parameters.tasks[0], path: "tasks[0]")
        }
        let name = try #require(member.split(separator: "\"").first)
        #expect(error.code == .unsupported)
        #expect(error.details["field"] == .string("tasks[0].\(name)"))
    }

    @Test func everyNameInTheTableIsRefused() {
        #expect(UnbuiltNames.task.count == 1)
        #expect(UnbuiltNames.session.count == 4)
    }

    @Test(arguments: [
        "\"requestCachePolicy\":\"x\"", "\"isDiscretionary\":true", "\"allowsExpensiveNetworkAccess\":false",
        "\"allowsConstrainedNetworkAccess\":false",
    ])
    func refusesFieldsOfSessionsByName(_ member: String) throws {
        let text = "{\"id\":\"s\",\"configuration\":{\(member)}}"
        let parameters = try WireCoding.parameters(of: OpenSession.self, from: Array(text.utf8))
        let configuration = try #require(parameters.configuration)
        let error = try #require(throws: TransferError.self) {
            try UnbuiltNames.check(configuration, path: "configuration")
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
            _ = try WireCoding.parameters(of: AddTasks.self, from: Array(#"{"tasks":[{"url":"x","uri":"y"}]}"#.utf8))
        }
        #expect(task.contains("Known here: ") && task.contains("retry") && !task.contains("requestCachePolicy"))
        let session = message {
            _ = try WireCoding.parameters(
                of: OpenSession.self, from: Array(#"{"id":"s","configuration":{"x":1}}"#.utf8))
        }
        #expect(session.contains("launch") && !session.contains("isDiscretionary"))
        let none = message { _ = try WireCoding.parameters(of: GetSettings.self, from: Array(#"{"x":1}"#.utf8)) }
        #expect(none == "x: no such field; there are none here.")
        let order = message { _ = try WireCoding.parameters(of: ListTasks.self, from: Array(#"{"order":"x"}"#.utf8)) }
        #expect(order == "order: give one of oldest, newest, queue, finished, activity.")
    }

    @Test func acceptsWhatIsBuilt() {
        var spec = TaskSpec()
        spec.url = "https://example.org"
        spec.connections = 16
        spec.kind = .upload
        spec.source = SourceFile(path: "/a")
        spec.uploadProtocol = "tus"
        #expect(throws: Never.self) { try UnbuiltNames.check(spec, path: "tasks[0]") }
        #expect(throws: Never.self) { try UnbuiltNames.check(SessionConfiguration(), path: "configuration") }
    }
}
