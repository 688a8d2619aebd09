/// C libraries that change the kernel's answers for one program.
extension Program {
    /// Builds a library of Tests/Preloaded, for LD_PRELOAD.
    /// - Returns: its path.
    package static func preloadable(_ name: String, in folder: TemporaryFolder) async throws -> String {
        let library = folder.file("\(name).so")
        let tests = "/" + #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
        try await require([
            "gcc", "-shared", "-fPIC", "-O1", "-o", library, "\(tests)/Preloaded/\(name).c", "-ldl",
        ])
        return library
    }
}
