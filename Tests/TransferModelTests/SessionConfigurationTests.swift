import Foundation
import Testing
import TransferModel

@Suite struct SessionConfigurationTests {
    private func decoded(_ text: String) throws -> SessionConfiguration {
        try JSONDecoder().decode(SessionConfiguration.self, from: Data(text.utf8))
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
        change.clear(.proxy)
        let back = try JSONDecoder().decode(SessionConfiguration.self, from: JSONEncoder().encode(change))
        #expect(back == change)
        #expect(back.cleared == [.proxy])
    }

    @Test(arguments: SessionConfiguration.CodingKeys.allCases)
    func everyMemberCanBeUnset(key: SessionConfiguration.CodingKeys) throws {
        var change = SessionConfiguration()
        change.clear(key)
        let text = String(decoding: try JSONEncoder().encode(change), as: UTF8.self)
        #expect(text == "{\"\(key.stringValue)\":null}")
    }
}
