import Foundation

/// The path of a file in this checkout.
func checkedOut(_ path: String) -> String {
    var folder = URL(fileURLWithPath: #filePath)
    // Tests/DaemonSetupTests/CheckedOut.swift
    for _ in 0..<3 { folder.deleteLastPathComponent() }
    return folder.appendingPathComponent(path).path
}
