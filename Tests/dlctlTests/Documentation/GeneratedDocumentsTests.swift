import Foundation
import Testing

@testable import dlctl

/// The committed documents must match the declarations. `make docs` or `dlctl documentation` writes them again.
@Suite struct GeneratedDocumentsTests {
    /// The root of the repository, found from this file (even if the path contains a link).
    private let root = URL(filePath: #filePath).resolvingSymlinksInPath()
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    private func committed(_ path: String) throws -> String {
        String(decoding: try Data(contentsOf: root.appending(path: path)), as: UTF8.self)
    }

    @Test func theManualPageIsInSync() throws {
        for (name, text) in try DocumentationCommand.manual() {
            #expect(try committed("docs/man/" + name) == text, "run: dlctl documentation --manual docs/man")
        }
    }

    @Test func theCompletionsAreInSync() throws {
        for (name, text) in DocumentationCommand.completions() {
            #expect(try committed("completions/" + name) == text, "run: dlctl documentation --completions completions")
        }
    }

    @Test func theManualNamesEveryCommandAndOption() throws {
        let page = try #require(try DocumentationCommand.manual()["dlctl.1"])
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
