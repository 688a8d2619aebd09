import Glibc

/// scripts/programs.txt: every external program, its package, and what starts it. The installers read it, so a program
/// without a row is missing on a new machine.
package struct ProgramTable: Sendable {
    package struct Row: Sendable {
        /// nil for a package that is linked or loaded.
        package var program: String?
        /// nil for a program that no Debian package has.
        package var package: String?
        package var uses: [String]
    }

    package static let path = "scripts/programs.txt"
    package static let uses: Set<String> = [
        "any", "product", "build", "run", "test", "bench", "torture", "fuzz", "systemd", "package", "lint",
        "fresh",
    ]

    package let rows: [Row]

    package init(text: String) {
        rows = text.split(separator: "\n").filter { !$0.hasPrefix("#") }.map { line in
            let words = line.split(separator: " ").map(String.init) + ["", "", ""]
            return Row(
                program: words[0] == "-" ? nil : words[0], package: words[1] == "-" ? nil : words[1],
                uses: words[2].split(separator: ",").map(String.init))
        }
    }

    /// Tells whether the installer for `use` installs the program. All installers build first, except that the product
    /// is started alone.
    package func has(_ program: String, for use: String) -> Bool {
        let enough = use == "product" ? [use] : [use, "any", "build"]
        return rows.contains { $0.program == program && $0.uses.contains(where: enough.contains) }
    }

    /// The name of a system program; nil for a program that the checkout or a test makes.
    package static func name(_ word: String) -> String? {
        guard word.contains("/") else { return word }
        guard ["/bin/", "/sbin/", "/usr/"].contains(where: word.hasPrefix) else { return nil }
        return word.split(separator: "/").last.map(String.init)
    }

    /// - Throws: `SupportError` if tests start a program that `make test` does not install.
    static func admit(_ word: String) throws {
        guard let name = name(word) else { return }
        guard let table = ofCheckout else { throw SupportError("cannot read \(path)") }
        guard table.has(name, for: "test") else {
            throw SupportError("\(name) is started: \(path) needs a row of it with test among its uses")
        }
    }

    /// Sources may be reached through links, but the table is next to the real ones.
    package static let ofCheckout: ProgramTable? = {
        guard let source = realpath(#filePath, nil) else { return nil }
        defer { free(source) }
        // Tests/Support/System/ProgramTable.swift
        let checkout = String(cString: source).split(separator: "/").dropLast(4)
        return (try? Files.text("/" + checkout.joined(separator: "/") + "/" + path)).map(ProgramTable.init)
    }()
}
