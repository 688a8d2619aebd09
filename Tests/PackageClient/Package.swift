// swift-tools-version:6.1
import PackageDescription

// A package as a stranger writes it. Tests/PackageClient/check builds and runs it.
let package = Package(
    name: "client",
    dependencies: [.package(name: "dld", path: "../..")],
    targets: [
        .executableTarget(
            name: "client", dependencies: [.product(name: "TransferNetworking", package: "dld")])
    ]
)
