import Foundation
import TestSupport
import TransferModel

@testable import DaemonKit

/// A home folder and an /etc file of one test's own.
struct ConfigurationFixture {
    private let temporary: TemporaryFolder
    var environment: [String: String]
    var arguments = DaemonArguments()

    init() throws {
        temporary = try TemporaryFolder()
        let root = temporary.path
        environment = ["HOME": "\(root)/home", "XDG_RUNTIME_DIR": "\(root)/run"]
        try FileManager.default.createDirectory(atPath: "\(root)/home/.config/dld", withIntermediateDirectories: true)
    }

    var root: String { temporary.path }

    var userFile: String { "\(root)/home/.config/dld/dld.yaml" }
    var systemFile: String { "\(root)/etc.yaml" }

    func write(_ text: String, to path: String) throws { try Data(text.utf8).write(to: URL(fileURLWithPath: path)) }

    var loader: ConfigurationLoader {
        ConfigurationLoader(arguments: arguments, environment: environment, systemFile: systemFile)
    }

    /// The lines of what is wrong, with the fixture's folder shortened to `~`.
    func problems() -> [String] {
        do {
            _ = try loader.load()
            return []
        } catch {
            return error.problems.map { problem in
                problem.description.replacingOccurrences(of: "\(root)/home/.config/dld/", with: "")
                    .replacingOccurrences(of: root, with: "~")
            }
        }
    }
}

/// A file of this checkout.
func checkedOut(_ path: String) -> String {
    var folder = URL(fileURLWithPath: #filePath)
    // Tests/DaemonKitTests/Configuration/ConfigurationFixture.swift
    for _ in 0..<4 { folder.deleteLastPathComponent() }
    return folder.appendingPathComponent(path).path
}
