import DaemonSetup
import Foundation
import TransferModel

/// A home folder and an /etc file for one test.
package struct ConfigurationFixture {
    private let temporary: TemporaryFolder
    package var environment: [String: String]
    package var arguments = DaemonArguments()

    package init() throws {
        temporary = try TemporaryFolder()
        let root = temporary.path
        environment = ["HOME": "\(root)/home", "XDG_RUNTIME_DIR": "\(root)/run"]
        try FileManager.default.createDirectory(atPath: "\(root)/home/.config/dld", withIntermediateDirectories: true)
    }

    package var root: String { temporary.path }

    package var userFile: String { "\(root)/home/.config/dld/dld.yaml" }
    package var systemFile: String { "\(root)/etc.yaml" }

    package func write(_ text: String, to path: String) throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
    }

    package var loader: ConfigurationLoader {
        ConfigurationLoader(arguments: arguments, environment: environment, systemFile: systemFile)
    }

    /// The lines that report problems, with the fixture's folder shortened to `~`.
    package func problems() -> [String] {
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
