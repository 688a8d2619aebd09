import Foundation
import TestSupport

extension TemporaryFolder {
    /// Creates a folder with those above it, if they are missing, and returns its path.
    @discardableResult
    func nested(_ name: String) throws -> String {
        try FileManager.default.createDirectory(atPath: file(name), withIntermediateDirectories: true)
        return file(name)
    }
}
