import Foundation
import Testing

/// The trial of tasks under the shipped unit (scripts/check-systemd) covers all features of the product. Each of these
/// tests finds what was added to the product but not to the trial.
@Suite struct SystemTrialTests {
    /// Returns the members of requests that the rules check as paths, with the method that accepts them.
    static func checkedMembers(in rules: String) -> [String] {
        rules.matches(of: #/checkFile\((\w+)[^"]*"([\w.]+)"/#).flatMap { call in
            switch call.1 {
            case "configuration": ["\(call.2) session.open"]
            case "credential": ["credential.\(call.2) decision.answer"]
            // One rule for tasks and sessions.
            case "authorities", "client": ["\(call.2) session.open", "\(call.2) task.add"]
            default: ["\(call.2) task.add"]
            }
        }
    }

    /// Returns the members that the reference describes as paths, by the object that has them: `netrc` of `UpdateTask`.
    static func documentedMembers(in reference: String, of section: String) -> [String] {
        let text = reference.components(separatedBy: "\n### \(section)\n").dropFirst().first ?? ""
        let end = text.range(of: "\n### ")?.lowerBound ?? text.endIndex
        return text[..<end].matches(of: #/\| `(\w+)`\?? \| [^|]* \| [^|]*\b[Pp]ath of/#).map { String($0.1) }
            + text[..<end].matches(of: #/\| `(\w+)`\?? \| [^|]* \| Absolute path/#).map { String($0.1) }
    }

    /// Returns the options whose values the shell completes as files or folders: `add --netrc-file`.
    static func fileOptions(in completions: String) -> [String] {
        completions.split(separator: "\n").compactMap { line in
            guard line.hasSuffix("F") || line.hasSuffix("(__dlctl_complete_directories)'"),
                let option = line.firstMatch(of: #/"dlctl ([a-z]+)[ a-z]*"[^"]* -l '([a-z0-9-]+)'/#),
                // The option for the daemon, which every command has.
                option.2 != "socket"
            else { return nil }
            return "\(option.1) --\(option.2)"
        }
    }

    /// Tells whether a command of the trial uses the option.
    static func uses(_ trial: String, _ option: String) -> Bool {
        let words = option.split(separator: " ")
        let commands = trial.replacing("\\\n", with: " ").split(separator: "\n")
        return commands.contains { $0.contains(" \(words[0]) ") && $0.contains(" \(words[1]) ") }
    }

    private static func members() throws -> Set<String> {
        let lines = try Checkout.text("Tests/Systemd/members").split(separator: "\n").filter { !$0.hasPrefix("#") }
        return Set(lines.map { $0.split(separator: " ").prefix(2).joined(separator: " ") })
    }

    private static func trial() throws -> String { try Checkout.text("Tests/Systemd/tasks") }

    @Test func everyMemberThatNamesAFileIsTried() throws {
        let members = try Self.members()
        let rules = try Checkout.files(below: "Sources/TransferCore", suffix: ".swift")
            .filter { $0.contains("/SpecRules") }.map(Checkout.text).joined()
        let checked = Self.checkedMembers(in: rules)
        #expect(checked.count >= 12, "the calls are not found any more")
        let missing = checked.filter { !members.contains($0) }
        #expect(missing == [], "Tests/Systemd/members needs lines of them")
    }

    /// Uses the text of the reference, so that a path that nothing checks is found too.
    @Test(arguments: [
        ("TaskSpec", "task.add", ""), ("RequestBody", "task.add", "body."), ("Destination", "task.add", "destination."),
        ("Source", "task.add", "source."), ("ClientCertificate", "task.add", "clientCertificate."),
        ("ClientCertificate", "session.open", "clientCertificate."),
        ("DirectoryRule", "session.open", "directories.0."),
        ("SessionConfiguration", "session.open", ""),
        ("Credential", "decision.answer", "credential."), ("task.update", "task.update", ""),
        ("Destination", "task.update", "destination."),
    ])
    func everyMemberThatTheReferenceCallsAPathIsTried(section: String, method: String, prefix: String) throws {
        let documented = Self.documentedMembers(in: try Checkout.text("docs/protocol.md"), of: section)
        #expect(!documented.isEmpty, "the reference of \(section) is not found any more")
        let members = try Self.members()
        let missing = documented.map { "\(prefix)\($0) \(method)" }.filter { !members.contains($0) }
        #expect(missing == [], "Tests/Systemd/members needs lines of them")
    }

    @Test func everyOptionThatNamesAFileIsTried() throws {
        let options = Self.fileOptions(in: try Checkout.text("completions/dlctl.fish"))
        #expect(options.count >= 30, "the options are not found any more")
        let trial = try Self.trial()
        let missing = options.filter { !Self.uses(trial, $0) }
        #expect(missing == [], "Tests/Systemd/tasks never says them")
    }

    @Test func everyProtocolIsTried() throws {
        let reference = try Checkout.text("docs/protocol.md")
        let row = try #require(reference.firstMatch(of: #/\| `uploadProtocol`\? \| ([^|]*) \|/#)).1
        let protocols = row.matches(of: #/`(\w+)`/#).map { "--protocol \($0.1) " }
        let scheme = try Checkout.text("Sources/TransferCore/Names/URLScheme.swift")
        let schemes = try #require(scheme.firstMatch(of: #/case ([a-z, ]+)\n/#)).1.split(separator: ", ")
        #expect(protocols.count >= 8 && schemes.count >= 7)
        let trial = try Self.trial() + Checkout.text("Tests/Systemd/servers")
        let words = protocols + schemes.map { $0 == "data" ? "data:," : "\($0)://" }
        let missing = words.filter { !trial.contains($0) }
        #expect(missing == [], "Tests/Systemd/tasks never says them")
    }

    @Test func whatIsAddedIsFound() {
        #expect(
            Self.checkedMembers(
                in: "try checkFile(spec.planted?.file, \"planted.file\")\ncheckFile(configuration.two, \"two\")\n"
                    + "checkFile(authorities, \"three\")")
                == ["planted.file task.add", "two session.open", "three session.open", "three task.add"])
        let reference =
            "\n### Planted\n\n| `one`? | string | Path of a thing. |\n| `two` | string | Absolute path: x. |\n"
            + "| `three` | string | Text. |\n\n### Other\n| `four` | string | Path of it. |\n"
        #expect(Self.documentedMembers(in: reference, of: "Planted") == ["one", "two"])
        let line = "complete -c 'dlctl' -n '__x \"dlctl add o planted\"' -s 'o' -l 'planted' -d 'It\\'s one.' "
        #expect(Self.fileOptions(in: line + "-rF\n" + line + "-rfka ''") == ["add --planted"])
        #expect(Self.uses("must x add \\\n    --planted y", "add --planted"))
        #expect(
            !Self.uses("must x upload --planted y", "add --planted")
                && !Self.uses("a add --planted-2 y", "add --planted"))
    }
}
