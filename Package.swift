// swift-tools-version: 6.2
//
// Espalier: an object graph that lives in a file. The module picture this manifest states is drawn in the README and
// held by the build (`.ci/run` passes `--explicit-target-dependency-import-check error`).
//
// Invariants
//   1. No package dependency, now or later: cloning this repository is all that a build needs.
//   2. A target depends on exactly the modules that the README's table allows it to import.

import CompilerPluginSupport
import Foundation
import PackageDescription

/// Settings of every module: Swift 6 mode comes from the tools version, the rest is spelled here.
let strict: [SwiftSetting] = [
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("ExistentialAny"),
    .strictMemorySafety(),
]

/// The folder of the running toolchain that carries SwiftSyntax (`…/usr/lib/swift/host`).
///
/// The manifest itself is linked against the toolchain's `libPackageDescription.so`, so its own memory map names the
/// toolchain that builds us. Where there is no such map, the first `swiftc` on PATH answers.
let swiftSyntaxFolder: String = {
    let maps = (try? String(contentsOfFile: "/proc/self/maps", encoding: .utf8)) ?? ""
    for line in maps.split(separator: "\n") where line.hasSuffix("/libPackageDescription.so") {
        let path = line.drop { $0 != "/" }
        if let end = path.range(of: "/lib/swift/pm/") { return path[..<end.lowerBound] + "/lib/swift/host" }
    }
    let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
    for folder in folders {
        let compiler = URL(fileURLWithPath: String(folder)).appendingPathComponent("swiftc").resolvingSymlinksInPath()
        let host = compiler.deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent(
            "lib/swift/host")
        if FileManager.default.fileExists(atPath: host.path) { return host.path }
    }
    return "/usr/lib/swift/host"
}()

let swiftSyntaxLibraries = [
    "SwiftSyntax", "SwiftSyntaxMacros", "SwiftSyntaxBuilder", "SwiftSyntaxMacroExpansion", "SwiftDiagnostics",
    "SwiftOperators", "SwiftParser", "SwiftParserDiagnostics", "SwiftBasicFormat", "SwiftCompilerPluginMessageHandling",
]

let package = Package(
    name: "Espalier",
    products: [
        .library(name: "Espalier", targets: ["Espalier"]),
        .library(name: "EspalierEngine", targets: ["EspalierEngine"]),
        .library(name: "EspalierModelFile", targets: ["EspalierModelFile"]),
        .library(name: "EspalierCoreData", targets: ["EspalierCoreData"]),
        .plugin(name: "EspalierClasses", targets: ["EspalierClasses"]),
        .executable(name: "dbtool", targets: ["dbtool"]),
    ],
    targets: [
        .target(name: "EspalierEngine", swiftSettings: strict),
        .target(name: "EspalierAudit", swiftSettings: strict),
        .target(name: "EspalierModel", swiftSettings: strict),
        .target(name: "EspalierModelFile", dependencies: ["EspalierModel"], swiftSettings: strict),
        .target(name: "EspalierStore", dependencies: ["EspalierEngine", "EspalierModel"], swiftSettings: strict),
        .target(
            name: "EspalierCoreData",
            dependencies: ["EspalierEngine", "EspalierModel", "EspalierModelFile", "EspalierStore"],
            swiftSettings: strict),
        .target(
            name: "Espalier", dependencies: ["EspalierModel", "EspalierStore", "EspalierMacros"],
            swiftSettings: strict),
        .macro(
            name: "EspalierMacros",
            swiftSettings: strict + [.unsafeFlags(["-I", swiftSyntaxFolder])],
            linkerSettings: [
                .unsafeFlags(
                    ["-L", swiftSyntaxFolder, "-Xlinker", "-rpath", "-Xlinker", swiftSyntaxFolder]
                        + swiftSyntaxLibraries.map { "-l\($0)" })
            ]),
        .executableTarget(
            name: "EspalierClassWriter", dependencies: ["EspalierModel", "EspalierModelFile"], swiftSettings: strict),
        .plugin(
            name: "EspalierClasses", capability: .buildTool(), dependencies: ["EspalierClassWriter"],
            path: "Sources/EspalierClasses"),
        .executableTarget(
            name: "dbtool",
            dependencies: [
                "EspalierAudit", "EspalierEngine", "EspalierModel", "EspalierModelFile", "EspalierCoreData",
                "EspalierStore", "Espalier",
            ],
            exclude: ["Chinook/LICENSE.md"], resources: [.copy("Chinook/ChinookData.json")], swiftSettings: strict),
        .target(
            name: "FuzzBodies",
            dependencies: [
                "EspalierAudit", "EspalierEngine", "EspalierModel", "EspalierModelFile", "EspalierStore",
                "EspalierCoreData", "TestSupport",
            ],
            path: "Fuzz/Bodies", swiftSettings: strict),
        .testTarget(
            name: "FuzzCorpusTests",
            dependencies: ["EspalierCoreData", "EspalierEngine", "FuzzBodies", "TestSupport"], swiftSettings: strict),
        .target(
            name: "TestSupport", dependencies: ["EspalierEngine"], path: "Tests/TestSupport", swiftSettings: strict),
        .testTarget(
            name: "EspalierEngineTests", dependencies: ["EspalierEngine", "TestSupport"],
            exclude: ["Golden"], swiftSettings: strict),
        .testTarget(
            name: "EspalierAuditTests",
            dependencies: ["EspalierAudit", "EspalierEngine", "EspalierModel", "EspalierStore", "TestSupport"],
            swiftSettings: strict),
        .testTarget(
            name: "EspalierModelTests", dependencies: ["EspalierModel", "TestSupport"], exclude: ["Formats"],
            swiftSettings: strict),
        .testTarget(
            name: "EspalierModelFileTests",
            dependencies: ["Espalier", "EspalierModel", "EspalierModelFile", "EspalierStore", "TestSupport"],
            exclude: ["Models"], swiftSettings: strict),
        .testTarget(
            name: "EspalierClassesTests",
            dependencies: ["Espalier", "EspalierModel", "EspalierModelFile", "TestSupport"],
            exclude: ["Models", "Shelf.xcdatamodeld"], swiftSettings: strict, plugins: ["EspalierClasses"]),
        .testTarget(
            name: "EspalierCoreDataTests",
            dependencies: [
                "EspalierCoreData", "EspalierEngine", "EspalierModel", "EspalierModelFile", "EspalierStore",
                "TestSupport",
            ],
            exclude: ["Stores"], swiftSettings: strict),
        .testTarget(
            name: "EspalierStoreTests",
            dependencies: ["EspalierCoreData", "EspalierStore", "EspalierModel", "EspalierEngine", "TestSupport"],
            swiftSettings: strict),
        .testTarget(
            name: "EspalierTests",
            dependencies: ["Espalier", "EspalierEngine", "EspalierModel", "EspalierStore", "TestSupport"],
            exclude: ["GeoNames", "Golden", "WordNet"], swiftSettings: strict),
        // As an application: public API only, and nothing of ours but the product.
        .testTarget(
            name: "EspalierOutsideTests", dependencies: ["Espalier"], packageAccess: false, swiftSettings: strict),
        .testTarget(
            name: "EspalierMacrosTests", dependencies: ["Espalier", "TestSupport"], swiftSettings: strict),
        .testTarget(
            name: "dbtoolTests",
            dependencies: [
                "dbtool", "EspalierAudit", "EspalierEngine", "EspalierModel", "EspalierModelFile", "EspalierCoreData",
                "EspalierStore", "Espalier", "TestSupport",
            ],
            exclude: ["Golden"], swiftSettings: strict),
        .testTarget(
            name: "SimulationTests",
            dependencies: ["EspalierEngine", "EspalierModel", "EspalierStore", "Espalier", "TestSupport"],
            swiftSettings: strict),
        .testTarget(name: "TidyTests", dependencies: ["TestSupport"], swiftSettings: strict),
    ]
)

// The flags of a build for fuzzing reach the tools of plug-ins, which do not link with them: `Fuzz/run` builds without
// the one target that uses a plug-in.
if Context.environment["ESPALIER_FUZZING"] != nil {
    package.targets.removeAll { $0.name == "EspalierClassesTests" }
}
