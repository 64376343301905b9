// swift-tools-version: 6.2
//
// Benchmarks of Espalier beside SQLite and LMDB, in the same run on the same machine. A package of its own, so that no
// package that depends on Espalier sees it. The peers are opened with `dlopen` if the machine has them; nothing links
// them.

import PackageDescription

let strict: [SwiftSetting] = [
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("ExistentialAny"),
]

/// In `allocations` the C library's names of memory functions stand for counting ones.
let countedMemory = ["malloc", "calloc", "realloc", "aligned_alloc", "posix_memalign"].flatMap {
    ["-Xlinker", "--defsym=\($0)=counted_\($0)"]
}

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
                .product(name: "EspalierCoreData", package: "Espalier"),
                .product(name: "EspalierModelFile", package: "Espalier"),
            ], swiftSettings: strict),
        .executableTarget(
            name: "allocations", dependencies: [.product(name: "EspalierEngine", package: "Espalier")],
            swiftSettings: strict, linkerSettings: [.unsafeFlags(countedMemory)]),
    ]
)
