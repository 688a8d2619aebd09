import Foundation
import Testing

/// The names of documents and the paths in sources and documents must exist. A file that was moved or removed may still
/// be named elsewhere.
@Suite struct NameTests {
    private static let folders = [
        "Sources", "Tests", "Benchmarks", "scripts", "docs", "config", "systemd", "clients", "packaging",
    ]
    private static let documents = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"]

    /// Returns the names in a file that do not exist in the checkout.
    static func missing(in text: String, of file: String) -> [String] {
        documentNames(in: text).filter { name in
            !["", "docs/", folder(of: file), "Benchmarks/"].contains { Checkout.exists($0 + name) }
        }
            + paths(in: text).filter { !isThere($0, below: [""]) }
            + (file.hasSuffix(".md") ? places(in: text).filter { !isThere($0, below: roots) } : [])
    }

    /// Finds names like `protocol.md` and `docs/states.md`.
    static func documentNames(in text: String) -> [String] {
        text.lines(with: ".md").matches(
            of: #/(?:^|[^\w./\-])((?:[\w.\-]+/)*\w[\w\-]*\.md)\b/#.anchorsMatchLineEndings()
        )
        .map { String($0.1) }
    }

    /// Finds paths like `Tests/Fuzz/run` and `docs/decisions/0006`, but none with a placeholder.
    static func paths(in text: String) -> [String] {
        text.lines(
            with: "Sources/", "Tests/", "Benchmarks/", "scripts/", "docs/", "config/", "systemd/", "clients/",
            "packaging/"
        )
        .matches(
            of:
                #/(?:^|[^\w./\-$"{}<])((?:Sources|Tests|Benchmarks|scripts|docs|config|systemd|clients|packaging)/[\w.+/\-]*[\w+])/#
                .anchorsMatchLineEndings()
        )
        .map { String($0.1) }
    }

    /// Finds names like `TransferCore/Scheduling` and `Files/FileAccess`, which documents use for folders and files
    /// below a source folder.
    static func places(in text: String) -> [String] {
        text.matches(of: #/`([A-Za-z]\w+(?:/[\w+.\-]+)+)`/#).map { String($0.1) }
            .filter { place in tops.contains { place.hasPrefix($0 + "/") } }
    }

    /// The folders that such names are relative to.
    private static let roots = ["", "Sources/", "Sources/DaemonKit/", "Tests/"]

    private static let tops: Set<String> = {
        let parts = (Checkout.files(below: "Sources") + Checkout.files(below: "Tests")).map { $0.split(separator: "/") }
        let daemon = parts.filter { $0.starts(with: ["Sources", "DaemonKit"]) && $0.count > 3 }.map { $0[2] }
        return Set((parts.map { $0[1] } + daemon).map(String.init))
    }()

    private static func isThere(_ path: String, below roots: [String]) -> Bool {
        // A decision may be named by its number alone.
        roots.contains { Checkout.exists($0 + path) || Checkout.exists($0 + path + ".swift") }
            || path.hasPrefix("docs/decisions/")
                && Checkout.files(below: "docs/decisions").contains { $0.hasPrefix(path + "-") }
    }

    private static func folder(of file: String) -> String {
        file.split(separator: "/").dropLast().map { $0 + "/" }.joined()
    }

    @Test func whatIsNamedIsThere() throws {
        let files = Self.documents + Self.folders.flatMap { Checkout.files(below: $0) } + ["Package.swift", "Makefile"]
        for file in files where !file.contains("/Corpus/") && !file.hasSuffix("/NameTests.swift") {
            guard let text = try? Checkout.text(file) else { continue }
            #expect(Self.missing(in: text, of: file) == [], "\(file)")
        }
    }

    @Test(arguments: [
        ("as lost-rules.md says", ["lost-rules.md"]), ("[x](../lost.md)", ["../lost.md"]), ("see docs/protocol.md", []),
        ("// protocol.md, Transport", []), ("Tests/Lost/run", ["Tests/Lost/run"]), ("docs/decisions/0001", []),
        ("docs/decisions/9999", ["docs/decisions/9999"]), ("$ROOT/Tests/Lost", []),
        ("`TransferCore/Lost`", ["TransferCore/Lost"]),
        ("`TransferCore/Retry/RetryPolicy.swift`, `TransferCore/Retry/RetryPolicy`", []), ("`text/plain`", []),
    ])
    func whatIsMissingIsFound(text: String, missing: [String]) {
        #expect(Self.missing(in: text, of: "docs/planted.md") == missing)
    }
}
