// The compiler plug-in's entry point: answers the compiler's requests over standard input and output.
//
// `SwiftCompilerPlugin` is not part of the toolchain's own libraries, so the connection is made here by hand.

@_spi(PluginMessage) import SwiftCompilerPluginMessageHandling
import SwiftSyntaxMacros

@main
struct EspalierMacrosPlugin: PluginProvider {
    static func main() throws {
        let listener = CompilerPluginMessageListener(
            connection: try StandardIOMessageConnection(), provider: EspalierMacrosPlugin())
        try listener.main()
    }

    /// Every macro by the name that its declaration in `Espalier/Macros.swift` gives.
    func resolveMacro(moduleName: String, typeName: String) throws -> any Macro.Type {
        switch typeName {
        case "EntityMacro": EntityMacro.self
        case "PropertyAccessorMacro": PropertyAccessorMacro.self
        case "PropertyMarkMacro": PropertyMarkMacro.self
        default: throw UnknownMacro(module: moduleName, name: typeName)
        }
    }
}

/// The compiler asked for a macro that this plug-in does not have: declarations and plug-in are of different versions.
struct UnknownMacro: Error, CustomStringConvertible {
    let module: String
    let name: String

    var description: String { "\(module) has no macro \(name); clean the build folder and build again" }
}
