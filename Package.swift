// swift-tools-version:6.2
import PackageDescription

/// The settings of every Swift target: language mode 6, which includes strict concurrency, and warnings are errors.
let strict: [SwiftSetting] = [.swiftLanguageMode(.v6), .treatAllWarnings(as: .error)]

let package = Package(
    name: "dld",
    products: [
        .executable(name: "dld", targets: ["dld"]),
        .executable(name: "dlctl", targets: ["dlctl"]),
        .executable(name: "dld-web", targets: ["dld-web"]),
        .executable(name: "dld-fleet", targets: ["dld-fleet"]),
        .library(name: "TransferClient", targets: ["TransferClient"]),
        .library(name: "TransferNetworking", targets: ["TransferNetworking"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
    ],
    targets: [
        // 0: words
        .target(
            name: "CCurl",
            linkerSettings: [.linkedLibrary("curl"), .linkedLibrary("ssl"), .linkedLibrary("crypto")]
        ),
        .target(name: "CLinux", linkerSettings: [.linkedLibrary("z")]),
        .systemLibrary(name: "CCrypto"),
        .systemLibrary(name: "CExpat"),
        .systemLibrary(name: "CIDN"),
        .systemLibrary(name: "CPSL"),
        .systemLibrary(name: "CSQLite"),
        .systemLibrary(name: "CSystemd"),
        .systemLibrary(name: "CYAML"),
        .target(name: "TransferModel", swiftSettings: strict),

        // 1: decisions and the wire
        .target(
            name: "TransferCore",
            dependencies: [
                "TransferModel", "CIDN", "CPSL", .product(name: "HeapModule", package: "swift-collections"),
            ],
            swiftSettings: strict
        ),
        .target(
            name: "TransferRPC",
            dependencies: ["TransferModel"],
            swiftSettings: strict
        ),
        .target(
            name: "JSONRPC",
            dependencies: [
                "TransferModel",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            swiftSettings: strict
        ),

        .target(
            name: "BrowserCookies", dependencies: ["TransferModel", "CSQLite", "CCrypto"], swiftSettings: strict),
        .target(name: "Metalink", dependencies: ["TransferModel", "CExpat"], swiftSettings: strict),

        // 1: threads for calls that block
        .target(name: "Threading", dependencies: ["CLinux"], swiftSettings: strict),

        // 2: adapters
        .target(
            name: "CurlEngine",
            dependencies: ["TransferCore", "TransferModel", "Threading", "CCurl", "CLinux"],
            swiftSettings: strict
        ),
        .target(
            name: "TransferStore",
            dependencies: ["TransferModel", "Threading", "CLinux", "CSQLite"],
            swiftSettings: strict
        ),

        .target(
            name: "FileKit",
            dependencies: ["TransferCore", "TransferModel", "Threading", "CLinux", "CCrypto"],
            swiftSettings: strict
        ),

        .target(
            name: "SystemBus",
            dependencies: [
                "TransferCore", "Threading", "CLinux", "CSystemd", .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict
        ),

        // 3: setup
        .target(
            name: "DaemonSetup",
            dependencies: [
                "TransferStore", "FileKit", "TransferCore", "TransferRPC", "JSONRPC", "TransferModel", "Threading",
                "CYAML",
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict
        ),

        // 4: assembly
        .target(
            name: "DaemonKit",
            dependencies: [
                "DaemonSetup", "CurlEngine", "TransferStore", "FileKit", "SystemBus", "TransferCore", "TransferRPC",
                "JSONRPC", "TransferModel", "Threading", "CLinux",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "DequeModule", package: "swift-collections"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
            ],
            swiftSettings: strict
        ),
        .target(
            name: "TransferClient",
            dependencies: ["TransferRPC", "JSONRPC", "TransferModel"],
            swiftSettings: strict
        ),

        // 5: programs, and the library that programs use
        .target(
            name: "TransferNetworking",
            dependencies: ["TransferClient", "TransferRPC", "TransferModel", "Threading"],
            swiftSettings: strict
        ),
        .executableTarget(
            name: "dld",
            dependencies: [
                "DaemonKit", "DaemonSetup", .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            swiftSettings: strict
        ),
        .executableTarget(
            name: "dlctl",
            dependencies: [
                "TransferClient", "Metalink", "BrowserCookies", "SystemBus",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            swiftSettings: strict
        ),
        // The files of the page, compiled in.
        .target(name: "WebPage", exclude: ["page"]),
        .executableTarget(
            name: "dld-web",
            dependencies: [
                "WebPage", "DaemonSetup", "TransferClient", "TransferRPC", "JSONRPC", "Metalink", "TransferModel",
                "CLinux",
                "CCrypto",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "DequeModule", package: "swift-collections"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOWebSocket", package: "swift-nio"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
            ],
            swiftSettings: strict
        ),
        // libpq, and the files of the schema, compiled in.
        .target(name: "FleetDatabase", exclude: ["sql"], linkerSettings: [.linkedLibrary("pq")]),
        .executableTarget(
            name: "dld-fleet",
            dependencies: [
                "FleetDatabase", "DaemonSetup", "TransferClient", "TransferRPC", "TransferCore", "TransferModel",
                "FileKit", "Threading", "CLinux",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
            ],
            swiftSettings: strict
        ),

        // Tests mirror the sources; EndToEnd drives the built programs.
        .target(
            name: "TestSupport",
            dependencies: ["DaemonSetup", "FileKit", "TransferModel", "Threading", "CLinux"],
            path: "Tests/Support",
            exclude: [
                "requirements.txt", "Servers/helper.py", "Servers/machine.py", "Servers/ntlm.py", "Servers/presign.py",
                "Servers/rpcdocument.py", "Servers/tus.py",
            ],
            swiftSettings: strict
        ),
        .testTarget(name: "ThreadingTests", dependencies: ["Threading"], swiftSettings: strict),
        .testTarget(name: "TransferModelTests", dependencies: ["TestSupport", "TransferModel"], swiftSettings: strict),
        .testTarget(name: "TransferCoreTests", dependencies: ["TransferCore", "TransferModel"], swiftSettings: strict),
        .testTarget(
            name: "BrowserCookiesTests", dependencies: ["BrowserCookies", "TestSupport", "TransferModel", "CSQLite"],
            swiftSettings: strict),
        .testTarget(name: "MetalinkTests", dependencies: ["Metalink", "TransferModel"], swiftSettings: strict),
        .testTarget(
            name: "TransferRPCTests", dependencies: ["TestSupport", "TransferRPC", "TransferModel"],
            exclude: ["Fixtures"], swiftSettings: strict),
        .testTarget(
            name: "JSONRPCTests",
            dependencies: [
                "JSONRPC", "TestSupport",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOConcurrencyHelpers", package: "swift-nio"),
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "CurlEngineTests",
            dependencies: [
                "CurlEngine", "TestSupport", "TransferCore", "TransferModel", "Threading", "CLinux", "CCurl",
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "TransferStoreTests",
            dependencies: ["TransferStore", "TestSupport", "TransferModel", "Threading", "CSQLite"],
            exclude: ["Fixtures"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "FileKitTests",
            dependencies: [
                "FileKit", "TestSupport", "JSONRPC", "TransferCore", "TransferModel", "Threading", "CLinux",
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "SystemBusTests",
            dependencies: [
                "SystemBus", "TestSupport", "TransferCore", "Threading",
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "DaemonSetupTests",
            dependencies: [
                "DaemonSetup", "TestSupport", "FileKit", "TransferCore", "TransferRPC", "JSONRPC", "TransferModel",
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "DaemonKitTests",
            dependencies: [
                "DaemonKit", "DaemonSetup", "TestSupport", "FileKit", "CurlEngine", "TransferStore", "TransferCore",
                "TransferRPC",
                "JSONRPC",
                "TransferModel", "Threading", "CLinux", .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "TransferClientTests",
            dependencies: ["TransferClient", "TestSupport", "TransferRPC", "JSONRPC", "TransferModel"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "TransferNetworkingTests",
            dependencies: [
                "TransferNetworking", "TestSupport", "Threading", "TransferRPC", "JSONRPC", "TransferModel",
                "ordinary", "background", "upload",
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "dldFleetTests",
            dependencies: [
                "dld-fleet", "TestSupport", "TransferModel", .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "dldWebTests",
            dependencies: [
                "dld-web", "TestSupport", "TransferClient", "TransferRPC", "JSONRPC", "TransferModel", "Threading",
                .product(name: "NIOConcurrencyHelpers", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
            ],
            swiftSettings: strict
        ),
        // Examples, which tests build and run.
        .executableTarget(
            name: "ordinary", dependencies: ["TransferNetworking"], path: "Examples/URLSession/Ordinary",
            swiftSettings: strict),
        .executableTarget(
            name: "background", dependencies: ["TransferNetworking"], path: "Examples/URLSession/Background",
            swiftSettings: strict),
        .executableTarget(
            name: "upload", dependencies: ["TransferNetworking"], path: "Examples/URLSession/Upload",
            swiftSettings: strict),
        .testTarget(
            name: "dlctlTests",
            dependencies: [
                "dlctl", "BrowserCookies", "SystemBus", "TestSupport", "TransferClient", "TransferRPC", "JSONRPC",
                "TransferModel",
                "Threading",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            swiftSettings: strict
        ),
        // Runs supervision and store in seeded worlds. SimulationRuntime supplies the worlds' time, random numbers and
        // order.
        .target(name: "CSimulation", path: "Tests/SimulationRuntime", publicHeadersPath: "include"),
        .executableTarget(
            name: "simulate",
            dependencies: [
                "CSimulation", "TestSupport", "DaemonKit", "DaemonSetup", "FileKit", "CurlEngine", "TransferStore",
                "TransferRPC",
                "TransferCore", "TransferModel",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            path: "Tests/Simulation",
            swiftSettings: strict
        ),
        // Asserts what must be true of every reader of outside input. libFuzzer runs it if DLD_FUZZ is set
        // (Tests/Fuzz/run), because its driver can be linked only together with its sanitizer.
        .target(
            name: "FuzzTargets",
            dependencies: [
                "DaemonKit", "DaemonSetup", "FileKit", "Metalink", "BrowserCookies", "TransferStore", "TransferRPC",
                "JSONRPC",
                "CurlEngine", "TransferCore", "TransferModel", "TransferNetworking", "TestSupport", "Threading",
                "CLinux",
                "dlctl",
                .product(name: "NIOCore", package: "swift-nio"),
            ],
            path: "Tests/Fuzz/Targets",
            swiftSettings: strict
        ),
        .testTarget(
            name: "FuzzTests", dependencies: ["FuzzTargets", "TestSupport"], path: "Tests/Fuzz/Tests",
            swiftSettings: strict),
        .testTarget(
            name: "HouseTests", dependencies: ["TestSupport"], exclude: ["budget.txt", "layers.txt"],
            swiftSettings: strict),
        .testTarget(
            name: "EndToEnd",
            dependencies: [
                "FileKit", "TestSupport", "TransferCore", "TransferModel", "TransferRPC", "TransferStore", "dld",
                "dlctl",
            ],
            swiftSettings: strict
        ),
    ]
)

// libFuzzer has its own `main`, so nothing that is linked with it may have another one.
if Context.environment["DLD_FUZZ"] != nil {
    package.products.removeAll { $0.name == "dlctl" }
    package.targets.removeAll { $0.name == "dlctl" }
    package.targets += [
        .target(
            name: "dlctl",
            dependencies: [
                "TransferClient", "TransferModel",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            sources: [
                "Input/ListFile.swift", "Input/NetscapeCookies.swift", "Input/ArgumentTypes.swift",
                "Rendering/DisplayWidth.swift", "Rendering/Figures.swift", "Rendering/Printable.swift",
            ],
            swiftSettings: strict
        ),
        .executableTarget(
            name: "fuzz", dependencies: ["FuzzTargets"], path: "Tests/Fuzz/Driver", swiftSettings: strict),
    ]
}

// The sanitizers judge the daemon and the tests of its parts (scripts/check-sanitizers). Building the rest takes as long again.
if let tests = Context.environment["DLD_SANITIZED"]?.split(separator: " ").map(String.init) {
    let programs = ["dld-web", "dld-fleet", "simulate", "FuzzTargets"]
    package.products.removeAll { programs.contains($0.name) }
    package.targets.removeAll { $0.type == .test ? !tests.contains($0.name) : programs.contains($0.name) }
}

// The pages of the library (scripts/check-documentation). Packages that depend on this one need no plugin.
if Context.environment["DLD_DOCC"] != nil {
    package.dependencies.append(.package(url: "https://github.com/swiftlang/swift-docc-plugin", from: "1.5.0"))
}
