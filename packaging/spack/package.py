# Recipe for Spack. There is no package of esbuild: an archive that `meson dist` made has the page already.
from spack.package import *


class Evenkeel(MesonPackage):
    """Plans, predicts and diagnoses the training of large models: layouts, layers of pipeline stages and recomputation from
    the training configuration, and what slows a run down from its profile."""

    homepage = "https://example.org/evenkeel"
    url = "https://example.org/evenkeel/evenkeel-0.1.0.tar.xz"

    license("Apache-2.0")

    version("0.1.0")

    variant("mpi", default=True, description="Build evenkeel-mpi")
    variant("python", default=False, description="Build the Python module")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("meson@1.0.0:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("python", type="build")

    depends_on("cbc")
    depends_on("clp")
    depends_on("cminpack")
    depends_on("isa-l")
    depends_on("jansson")
    depends_on("libmicrohttpd")
    depends_on("libyaml")
    depends_on("netlib-lapack+lapacke")
    depends_on("pcre2")
    depends_on("sqlite")
    depends_on("tomlplusplus")
    depends_on("zlib-api")

    depends_on("mpi", when="+mpi")
    extends("python", when="+python")
    depends_on("py-cffi", type=("build", "run"), when="+python")

    def meson_args(self):
        return [
            "-Ddefault_library=shared",
            "-Dmpi=" + ("enabled" if self.spec.satisfies("+mpi") else "disabled"),
            "-Dpython=" + ("enabled" if self.spec.satisfies("+python") else "disabled"),
        ]
