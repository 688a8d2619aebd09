import Glibc

/// The packages of requirements.txt, as installed by scripts/install-test-dependencies in `.testenv` of the checkout.
package enum PythonEnvironment {
    /// Tells whether everything is installed. The note is written last.
    package static var isInstalled: Bool { folder.map { Files.exists($0 + "/installed") } ?? false }

    /// The interpreter that has the packages.
    /// - Throws: `SupportError` if they are not installed.
    package static func python() throws -> String {
        guard let folder, isInstalled else {
            throw SupportError("no Python packages for tests: run scripts/install-test-dependencies")
        }
        return folder + "/bin/python"
    }

    /// A script for that interpreter, next to this source.
    package static func script(_ name: String) throws -> String {
        try file("Tests/Support/Servers/" + name)
    }

    /// A file of the checkout.
    package static func file(_ path: String) throws -> String {
        guard let checkout else { throw SupportError("the folder of this source is gone") }
        return checkout + "/" + path
    }

    private static let folder: String? = checkout.map { $0 + "/.testenv" }

    /// Sources may be reached through links, but the packages are next to the real ones.
    private static let checkout: String? = {
        guard let source = realpath(#filePath, nil) else { return nil }
        defer { free(source) }
        // Tests/Support/Servers/PythonEnvironment.swift
        return "/" + String(cString: source).split(separator: "/").dropLast(4).joined(separator: "/")
    }()
}
