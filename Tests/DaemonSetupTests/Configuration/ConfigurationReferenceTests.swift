import Foundation
import TestSupport
import Testing

@testable import DaemonSetup

/// The committed files must match the table. `make docs` writes them again.
@Suite struct ConfigurationReferenceTests {
    @Test(arguments: [
        ("config/dld.yaml", ConfigurationReference.yaml()),
        ("docs/configuration.md", ConfigurationReference.markdown()),
    ])
    func committedFileIsInStep(path: String, expected: String) throws {
        let file = checkedOut(path)
        if ProcessInfo.processInfo.environment["DLD_UPDATE_DOCS"] == "1" {
            try Data(expected.utf8).write(to: URL(fileURLWithPath: file))
        }
        let committed = try String(contentsOfFile: file, encoding: .utf8)
        #expect(committed == expected, "run `make docs`")
    }

    @Test func theYAMLNamesEverySettingWithTypeUnitDefaultAndExample() {
        let text = ConfigurationReference.yaml().split(separator: "\n").map { $0.drop { $0 == "#" || $0 == " " } }
            .joined(separator: " ")
        for setting in SettingsTable.all {
            #expect(text.contains("Default: \(setting.defaultDescription). Example: \(setting.example)."))
            #expect(text.contains("Type: \(setting.kind.name), "))
            #expect(text.contains("\(setting.name.split(separator: ".").last ?? ""): "))
        }
    }

    /// If every `#` before a setting is removed, the file must still be accepted.
    @Test func theUncommentedFileIsAccepted() throws {
        let fixture = try ConfigurationFixture()
        let text = ConfigurationReference.yaml().split(separator: "\n").map { line in
            line.hasPrefix("#") && !line.hasPrefix("# ") && line != "#" ? String(line.dropFirst()) : String(line)
        }
        .map { line in
            // `#  directory:` inside a section is a setting, `# Words` is prose.
            line.hasPrefix("#  ") ? String(line.dropFirst()) : line
        }
        .joined(separator: "\n")
        try fixture.write(text, to: fixture.userFile)
        #expect(fixture.problems().isEmpty)
        let configuration = try fixture.loader.load()
        #expect(configuration.statements.count == SettingsTable.all.count)
    }
}
