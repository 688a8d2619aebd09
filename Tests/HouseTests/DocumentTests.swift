import Foundation
import Testing

/// Documents that describe the code must stay in step with it.
@Suite struct DocumentTests {
    @Test func everyMakeTargetIsDocumentedAndPhony() throws {
        let makefile = try Checkout.text("Makefile")
        let phony = makefile.split(separator: "\n").first { $0.hasPrefix(".PHONY:") } ?? ""
        let readers = try ["README.md", "CONTRIBUTING.md"].map(Checkout.text).joined()
        for line in makefile.split(separator: "\n") {
            guard let colon = line.firstIndex(of: ":"), let first = line.first, first.isLetter,
                line[..<colon].allSatisfy({ $0.isLetter || $0 == "-" })
            else { continue }
            let name = line[..<colon]
            #expect(line.contains("## "), "make \(name) has no description")
            #expect(phony.split(separator: " ").contains(name), "make \(name) is not in .PHONY")
            #expect(readers.contains("make \(name)"), "neither README.md nor CONTRIBUTING.md mentions make \(name)")
        }
    }

    /// A first user sees how to run and to test it, and how long each takes.
    @Test(arguments: ["make run", "make test"])
    func theReadmeSaysHowLongItTakes(_ command: String) throws {
        let lines = try Checkout.text("README.md").split(separator: "\n")
        #expect(lines.contains { $0.contains("`\(command)`") && $0.contains("minutes") }, "\(command)")
    }

    /// The manual names every option that the program declares.
    @Test func theManualOfTheDaemonNamesEveryOption() throws {
        let source = try Checkout.text("Sources/dld/DaemonCommand.swift")
        let manual = try Checkout.text("docs/man/dld.1").split(separator: "\\").joined()
        let custom = source.matches(of: /customLong\("([a-z-]+)"\)/).map { String($0.1) }
        let plain = source.matches(of: /@(?:Flag|Option)\((?:(?!name:).)*?\)\n    var ([a-z]+)[: =]/).map {
            String($0.1)
        }
        #expect(custom.contains("state-dir") && plain.contains("socket"), "the declarations are not found any more")
        for option in custom + plain + ["version", "help"] {
            #expect(manual.contains("--\(option)"), "dld.1 does not name --\(option)")
        }
    }

    @Test func linksBetweenDocumentsLeadSomewhere() throws {
        let documents =
            ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "ARCHITECTURE.md"].filter(Checkout.exists)
            + ["docs", "Benchmarks"].flatMap { Checkout.files(below: $0, suffix: ".md") }
        for document in documents {
            let folder = document.split(separator: "/").dropLast().joined(separator: "/")
            for link in try Checkout.text(document).matches(of: /\]\(([^)#:]+)(?:#[^)]*)?\)/) {
                let path = folder.isEmpty ? String(link.1) : "\(folder)/\(link.1)"
                #expect(Checkout.exists(path), "\(document) links to \(link.1)")
            }
        }
    }

    /// `CurlEngine/Files/PartSink` names a source or a folder that still exists.
    @Test(arguments: [
        "ARCHITECTURE.md", "CONTRIBUTING.md", "docs/glossary.md", "docs/locks.md", "docs/where-to-add.md",
    ])
    func pathsInDocumentsExist(_ document: String) throws {
        // Each path has a slash at both ends, so that complete components are compared.
        let sources = (Checkout.files(below: "Sources") + Checkout.files(below: "Tests")).map { path in
            "/" + (path.hasSuffix(".swift") ? String(path.dropLast(".swift".count)) : path) + "/"
        }
        let named = try Checkout.text(document).matches(of: /`((?:[A-Z][A-Za-z]+\/)+[A-Za-z+.-]+)`/).map {
            String($0.1)
        }
        for path in named {
            let wanted = "/" + (path.hasSuffix(".swift") ? String(path.dropLast(".swift".count)) : path) + "/"
            #expect(sources.contains { $0.contains(wanted) }, "\(document) names \(path)")
        }
    }

    /// `Turn.pass` names what the sources still declare.
    @Test(arguments: ["ARCHITECTURE.md", "docs/glossary.md", "docs/locks.md", "docs/where-to-add.md"])
    func namesInDocumentsAreDeclared(_ document: String) throws {
        let names = try Checkout.text(document).matches(of: /`([A-Z]+[a-z][\w+]*(?:\.\w+)*)(?:\([^`]*\))?`/).map {
            String($0.1)
        }
        #expect(names.count > 10)
        for name in names {
            let parts = name.split(separator: ".").map(String.init)
            #expect(parts.allSatisfy(Self.declared.contains), "\(document): \(name)")
        }
    }

    /// The names of types, members, files and folders.
    private static let declared: Set<String> = {
        let keywords: Set<Substring> = [
            "struct", "class", "enum", "protocol", "typealias", "func", "let", "var", "case",
        ]
        let files = ["Sources", "Tests/Simulation"].flatMap { Checkout.files(below: $0) }
        func isPartOfName(_ byte: UInt8) -> Bool {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), 128...:
                true
            default: false
            }
        }
        var declared = Set(files.flatMap { $0.split(separator: "/") }.map { String($0.prefix { $0 != "." }) })
        for file in files where file.hasSuffix(".swift") {
            let text = (try? Checkout.text(file)) ?? ""
            let words = text.utf8.split { !isPartOfName($0) }.map { Substring($0) }
            for (keyword, name) in zip(words, words.dropFirst()) where keywords.contains(keyword) {
                declared.insert(String(name))
            }
        }
        return declared
    }()

    @Test func eachWordOfTheGlossaryHasAName() throws {
        let rows = try Checkout.text("docs/glossary.md").split(separator: "\n").filter { $0.hasPrefix("| ") }
        #expect(rows.count > 40)
        for row in rows.dropFirst() { #expect(row.contains(/\| `[A-Z][\w.]+` \|$/), "\(row)") }
    }

    /// Each thread that the sources name has its row, and each row its thread.
    @Test func theThreadsAreThoseOfTheSources() throws {
        let documented = try Checkout.text("ARCHITECTURE.md").matches(of: /`(dld-[a-z-]+)`/).map { String($0.1) }
        var started: Set<String> = []
        for file in Checkout.files(below: "Sources", suffix: ".swift") {
            let text = try Checkout.text(file)
            guard text.contains("\"dld-") else { continue }
            started.formUnion(text.matches(of: /"(dld-[a-z-]+)"/).map { String($0.1) })
        }
        #expect(Set(documented) == started.subtracting(["dld-admin", "dld-web", "dld-fleet"]))
    }

    /// Commands, options, settings and journal fields.
    @Test func theOperationsDocumentNamesWhatThereIs() throws {
        let document = try Checkout.text("docs/operations.md")
        let manual = try Checkout.text("docs/man/dlctl.1").split(separator: "\\").joined()
        let commands = document.matches(of: /dlctl (?:--system )?([a-z]+)((?: [^`\n#|]*)?)/)
        #expect(commands.count > 10)
        for command in commands {
            #expect(manual.contains("dlctl \(command.1)"), "operations.md: dlctl \(command.1)")
            for option in command.2.matches(of: /--[a-z-]+/) {
                #expect(manual.contains(option.0), "operations.md: \(command.0)")
            }
        }
        let fields =
            try Checkout.text("Sources/DaemonKit/Supervision/TaskLogFields.swift")
            + Checkout.text("Sources/DaemonSetup/Logging/DaemonLogHandler.swift")
        for name in document.matches(of: /DLD_([A-Z]+)/) {
            #expect(fields.contains("\"\(name.1.lowercased())\""), "operations.md: \(name.0)")
        }
        for name in fields.matches(of: /(?:fields|metadata)\["([a-z]+)"\] =/) {
            #expect(document.contains("DLD_\(name.1.uppercased())"), "operations.md lacks \(name.1)")
        }
        let settings = try Checkout.text("docs/configuration.md")
        for name in document.matches(of: /`((?:session\.)?(?:maximum|history|event|download|upload|minimum)[A-Za-z]+)`/)
        {
            #expect(settings.contains("`\(name.1)`"), "operations.md: \(name.1)")
        }
    }

    @Test func decisionsAreNumberedWithoutAGap() {
        let numbers = Checkout.files(below: "docs/decisions", suffix: ".md").compactMap { path in
            path.split(separator: "/").last.flatMap { Int($0.prefix(4)) }
        }
        #expect(numbers == Array(1...max(1, numbers.count)))
    }

    @Test func scriptsAreExecutable() {
        for file in Checkout.files(below: "scripts") where !file.contains(".") {
            let path = Checkout.root.appendingPathComponent(file).path
            #expect(FileManager.default.isExecutableFile(atPath: path), "\(file) is not executable")
        }
    }
}
