import Glibc

/// The packages of requirements.txt, where scripts/install-test-dependencies puts them: `.testenv` of the checkout.
package enum PythonEnvironment {
    /// Whether all of it is there; the note is written last.
    package static var isInstalled: Bool { folder.map { Files.exists($0 + "/installed") } ?? false }

    /// The interpreter that has the packages.
    /// - Throws: `SupportError` where they are not installed.
    static func python() throws -> String {
        guard let folder, isInstalled else {
            throw SupportError("no Python packages for tests: run scripts/install-test-dependencies")
        }
        return folder + "/bin/python"
    }

    /// Sources may be reached through links; the packages are beside the real ones.
    private static let folder: String? = {
        guard let source = realpath(#filePath, nil) else { return nil }
        defer { free(source) }
        // Tests/Support/Servers/PythonEnvironment.swift
        let checkout = String(cString: source).split(separator: "/").dropLast(4)
        return "/" + checkout.joined(separator: "/") + "/.testenv"
    }()
}
