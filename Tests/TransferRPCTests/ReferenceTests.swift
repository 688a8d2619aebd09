import Foundation
import TestSupport
import Testing
import TransferModel
import TransferRPC

/// The documents in docs/ match the declarations. `DLD_UPDATE_DOCS=1` writes them.
struct ReferenceTests {
    @Test func protocolDocumentIsInSync() throws {
        try expectSync("protocol.md", ProtocolReference.markdown())
    }

    @Test func errorDocumentIsInSync() throws {
        try expectSync("errors.md", ProtocolReference.errorsMarkdown())
    }

    @Test func everyMethodOfTheContractIsDeclaredOnce() {
        let names = Methods.all.map { $0.name }
        #expect(Set(names).count == names.count)
        #expect(
            Set(names) == [
                "daemon.info", "daemon.stats", "daemon.metrics", "settings.get", "settings.list", "settings.set",
                "rpc.discover",
                "session.open",
                "session.get", "session.list", "session.pause", "session.resume", "session.finish",
                "session.invalidate", "task.add", "task.get",
                "task.list", "task.pause", "task.resume", "task.cancel", "task.retry", "task.remove", "task.update",
                "task.resumeData", "task.body", "task.credit", "decision.list", "decision.answer", "cookies.list",
                "cookies.set", "cookies.remove", "cache.info", "cache.remove",
                "cookies.set", "cookies.remove", "credentials.list", "credentials.set", "credentials.remove",
                "hsts.list", "hsts.remove", "trust.list", "trust.remove",
                "events.subscribe", "events.ack", "events.list", "events.forget",
                "events.unsubscribe",
            ])
    }

    @Test func documentNamesEveryMethodEventAndError() {
        let text = ProtocolReference.markdown()
        for method in Methods.all { #expect(text.contains("### \(method.name)\n")) }
        for type in EventType.allCases { #expect(text.contains("| `\(type.rawValue)` |")) }
        let errors = ProtocolReference.errorsMarkdown()
        for code in ErrorCode.allCases { #expect(errors.contains("| `\(code.rawValue)` |")) }
    }

    @Test func linksOfTheDocumentHaveTargets() {
        let text = ProtocolReference.markdown()
        let headings = text.split(separator: "\n").filter { $0.hasPrefix("#") }
            .map { $0.drop { $0 == "#" || $0 == " " }.lowercased().filter { $0.isLetter || $0.isNumber } }
        #expect(Set(headings).count == headings.count, "two headings have one anchor")
        for link in text.matches(of: /\]\(#([^)]*)\)/) {
            #expect(headings.contains(String(link.1)), "\(link.1) has no heading")
        }
    }

    @Test func openRPCDescribesEveryMethodAndResolvesItsReferences() throws {
        let text = ProtocolReference.openRPC()
        let document = try ForeignJSON.value(text.utf8)
        #expect(document["methods"]?.arrayValue?.compactMap { $0["name"]?.stringValue } == Methods.all.map { $0.name })
        let schemas = try #require(document["components"]?["schemas"])
        for reference in text.matches(of: /"#\/components\/schemas\/([A-Za-z]*)"/) {
            #expect(schemas[String(reference.1)] != nil, "\(reference.1) is missing")
        }
        let task = try #require(schemas["Task"]?["properties"])
        for member in ["url", "state", "bytesReceived", "nextAttemptAt"] { #expect(task[member] != nil) }
        for secret in ["password", "bearer", "resumeData"] { #expect(task[secret] == nil) }
    }

    private func expectSync(_ name: String, _ text: String, file: String = #filePath) throws {
        let folder = URL(fileURLWithPath: file).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("docs")
        let path = folder.appendingPathComponent(name)
        if ProcessInfo.processInfo.environment["DLD_UPDATE_DOCS"] == "1" {
            try Data(text.utf8).write(to: path)
        }
        let stored = (try? Data(contentsOf: path)) ?? Data()
        #expect(stored == Data(text.utf8), "docs/\(name) is stale: run the tests once with DLD_UPDATE_DOCS=1.")
    }
}
