// swift-tools-version:6.1
import PackageDescription

let package = Package(
    name: "library",
    dependencies: [.package(name: "dld", path: "../..")],
    targets: [
        .executableTarget(name: "library", dependencies: [.product(name: "TransferNetworking", package: "dld")])
    ]
)
