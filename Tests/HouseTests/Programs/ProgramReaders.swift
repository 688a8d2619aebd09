import Foundation
import TestSupport

/// The programs that Swift and Python sources start under a literal name. Names that are built at run time are checked
/// against the table when they are started: by `Program` in Tests/Support, and by `bench.programs` in Python.
enum ProgramReaders {
    /// What every text has that starts a program. Most sources do not.
    private static let marks = [
        "Program(", "Program.", "startServer(", "ChildProcess.spawn(", "wrapper: [", "command: [", "launcher: [",
        "bin/",
        "lib/openssh/", ": [\"", "systemctl: String", "Requirements.has(", "\"-c\",", "install(", "#!/bin/sh",
    ]

    /// - Parameter file: In dlctlTests `Program` is dlctl with these arguments.
    static func swift(_ text: String, in file: String = "") -> Set<String> {
        guard marks.contains(where: text.contains) else { return [] }
        let code = text.split(separator: "\n", omittingEmptySubsequences: false)
            .filter { !$0.drop(while: \.isWhitespace).hasPrefix("//") }.joined(separator: "\n")
        let call =
            #/(?:\bProgram(?:\.run|\.require)?|startServer|ChildProcess\.spawn|Program\.find)\(\s*\[?\s*"([^"\\]+)"/#
        var words = file.hasPrefix("Tests/dlctlTests/") ? [] : code.matches(of: call).map { String($0.1) }
        words += code.matches(of: #/\b(?:wrapper|command|launcher): \[\s*"([^"\\]+)"/#).map { String($0.1) }
        words += code.matches(of: #/[\[(,=:?]\s*"(\/(?:usr\/)?(?:local\/)?(?:s?bin|lib\/openssh)\/[\w.+-]+)[ "]/#).map {
            String($0.1)
        }
        // A stored command: a program and an option.
        words += code.matches(of: #/: \["([a-z][\w.+-]*)", "-/#).map { String($0.1) }
        words += code.matches(of: #/\bsystemctl: String = "(\w+)"/#).map { String($0.1) }
        for list in code.matches(of: #/Requirements\.has\(([^()]*)\)/#) {
            words += list.1.matches(of: #/"([^"\\]+)"/#).map { String($0.1) }
        }
        for script in scripts(in: code) { words += ShellReader(script).programs() }
        return Set(words.compactMap(ProgramTable.name))
    }

    /// Returns the texts that a shell gets: after `-c`, as a program of a test's own, or in a variable that goes to `sh
    /// -c`.
    private static func scripts(in code: String) -> [String] {
        guard ["\"-c\",", "install(", "#!/bin/sh"].contains(where: code.contains) else { return [] }
        // Interpolated values are unknown, and their quotes would end the literal.
        let plain = code.replacing(#/\\\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)/#, with: "$x")
        var scripts = plain.matches(of: #/(?:"-c",|\binstall\(|"#!\/bin\/sh\\n" \+)\s*"((?:[^"\\]|\\.)*)"/#).map {
            $0.1
        }
        scripts += plain.matches(of: #/"#!\/bin\/sh\\n((?:[^"\\]|\\.)*)"/#).map { $0.1 }
        if plain.contains(#/"sh", "-c", script\b/#) {
            scripts += plain.matches(of: #/script =\s*"((?:[^"\\]|\\.)+)"/#).map { $0.1 }
            scripts += plain.matches(of: #/script = """\n((?s).*?)"""/#).map { $0.1 }
        }
        return scripts.map {
            $0.replacing("\\\"", with: "\"").replacing("\\n", with: "\n").replacing("\\\\", with: "\\")
        }
        .map(String.init)
    }

    static func python(_ text: String) -> Set<String> {
        let starters =
            #/(?:subprocess\.\w+|children\.start|line_of|os\.(?:exec|spawn|system|popen)\w*)\(\s*[\[(]?\s*"([^"]+)"/#
        var words = text.matches(of: starters).map { String($0.1) }
        words += text.matches(of: #/(?:^|[^.\w])run\("([^"]+)"/#).map { String($0.1) }
        words += text.matches(of: #/which\(\s*"([^"]+)"/#).map { String($0.1) }
        // A stored command: a program and an option.
        words += text.matches(of: #/: \(?\["([a-z][\w.+-]*)", "-/#).map { String($0.1) }
        return Set(words.compactMap { $0.split(separator: " ").first.map(String.init) }.compactMap(ProgramTable.name))
    }

    static func make(_ text: String) -> Set<String> {
        let recipes = text.split(separator: "\n").filter { $0.hasPrefix("\t") }.joined(separator: "\n")
        // First the variables of make itself, then the text that make leaves to the shell.
        var plain = recipes.replacing("$$", with: "\u{1}")
        while case let simpler = plain.replacing(#/\$\([^()]*\)/#, with: "$x"), simpler != plain { plain = simpler }
        let script = plain.replacing("\u{1}", with: "$").replacing(#/(?m)^\t[@-]?/#, with: "")
        return Set(ShellReader(script).programs().compactMap(ProgramTable.name))
    }
}
