// swift-tools-version: 6.2
//
// Benchmarks of Espalier beside SQLite and LMDB, in the same run on the same machine. A package of its own, so that who
// depends on Espalier never sees it. The peers are opened with `dlopen` if the machine has them; nothing links them.

import PackageDescription

let strict: [SwiftSetting] = [
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("ExistentialAny"),
]

let package = Package(
    name: "Benchmarks",
    dependencies: [.package(name: "Espalier", path: "..")],
    targets: [
        .target(name: "BenchKit", swiftSettings: strict),
        .target(name: "Peers", swiftSettings: strict),
        .executableTarget(
            name: "bench",
            dependencies: [
                "BenchKit", "Peers", .product(name: "Espalier", package: "Espalier"),
                .product(name: "EspalierEngine", package: "Espalier"),
            ], swiftSettings: strict),
    ]
)
