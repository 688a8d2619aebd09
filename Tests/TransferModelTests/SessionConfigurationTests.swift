import Foundation
import Testing
import TransferModel

@Suite struct SessionConfigurationTests {
    private func decoded(_ text: String) throws -> SessionConfiguration {
        try JSONCoding.decode(SessionConfiguration.self, from: Array(text.utf8))
    }

    @Test func aChangeTouchesOnlyWhatItNames() throws {
        let before = try decoded(#"{"maximumConcurrentTasks": 3, "proxy": "http://p:1", "directory": "/d"}"#)
        let after = before.changed(by: try decoded(#"{"maximumConcurrentTasks": 4, "proxy": null}"#))
        #expect(after.maximumConcurrentTasks == 4)
        #expect(after.proxy == nil)
        #expect(after.directory == "/d")
        #expect(after.cleared.isEmpty)
    }

    @Test func nullSurvivesTheWire() throws {
        var change = SessionConfiguration()
        change.directory = "/d"
        change.clear(\.proxy)
        let back = try JSONCoding.decode(SessionConfiguration.self, from: JSONCoding.encode(change))
        #expect(back == change)
        #expect(back.cleared == ["proxy"])
    }

    @Test(arguments: SessionConfiguration.shape.names)
    func everyMemberCanBeUnset(name: String) throws {
        let text = "{\"\(name)\":null}"
        let change = try decoded(text)
        #expect(change.cleared == [name] && change.namedMembers == [name])
        #expect(String(decoding: JSONCoding.encode(change), as: UTF8.self) == text)
        #expect(SessionConfiguration().changed(by: change) == SessionConfiguration())
    }
}
