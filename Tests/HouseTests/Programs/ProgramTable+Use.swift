import TestSupport

extension ProgramTable {
    /// Returns the use that starts the programs named in a file.
    static func use(of file: String) -> String {
        let places = [
            ("Sources/", "product"), ("Tests/Torture/", "torture"), ("Tests/Fuzz/", "fuzz"),
            ("Tests/Systemd/", "systemd"), ("Tests/Package/", "package"), ("scripts/containers.sh", "package"),
            ("scripts/build-", "package"), ("scripts/check-package", "package"), ("scripts/release", "package"),
            ("scripts/check-systemd", "systemd"), ("scripts/check-units", "systemd"), ("scripts/check-fresh", "fresh"),
            ("scripts/lint", "lint"), ("scripts/demonstrate", "run"), ("scripts/fetch", "run"),
            ("Benchmarks/", "bench"),
            ("Tests/", "test"), (".ci/", "test"), ("scripts/test", "test"), ("scripts/install-test", "test"),
            ("scripts/check-sanitizers", "test"), ("scripts/check-python", "test"), ("scripts/check-web", "test"),
            ("scripts/check-fleet", "test"), ("scripts/python-tests", "test"),
            ("clients/", "test"),
        ]
        return places.first { file.hasPrefix($0.0) }?.1 ?? "build"
    }
}
