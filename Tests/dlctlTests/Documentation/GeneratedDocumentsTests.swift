import Foundation
import Testing

@testable import dlctl

/// What is committed must be what the declarations make; `make docs` or `dlctl documentation` writes it anew.
@Suite struct GeneratedDocumentsTests {
    /// The repository, two folders above the tests (also where the tests are reached through a link).
    private let root = URL(filePath: #filePath).resolvingSymlinksInPath()
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    private func committed(_ path: String) throws -> String {
        String(decoding: try Data(contentsOf: root.appending(path: path)), as: UTF8.self)
    }

    @Test func theManualPageIsInSync() throws {
        for (name, text) in try GeneratedDocuments.manual() {
            #expect(try committed("docs/man/" + name) == text, "run: dlctl documentation --manual docs/man")
        }
    }

    @Test func theCompletionsAreInSync() throws {
        for (name, text) in GeneratedDocuments.completions() {
            #expect(try committed("completions/" + name) == text, "run: dlctl documentation --completions completions")
        }
    }

    @Test func theManualNamesEveryCommandAndOption() throws {
        let page = try #require(try GeneratedDocuments.manual()["dlctl.1"])
        for group in Dlctl.configuration.subcommands where group.configuration.shouldDisplay {
            let name = try #require(group.configuration.commandName)
            #expect(page.contains(".SS \"dlctl \(name)"), "\(name)")
        }
        for option in [
            "\\-\\-checksum", "\\-\\-client\\-token", "\\-\\-password\\-stdin", "\\-\\-no\\-start",
            "\\-\\-keep\\-partial",
        ] {
            #expect(page.contains(option), "\(option)")
        }
        #expect(!page.contains("documentation"))
        #expect(page.split(separator: "\n").allSatisfy { !$0.hasPrefix("'") })
    }
}
