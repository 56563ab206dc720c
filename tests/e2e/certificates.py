"""Throw-away certificates, made with the openssl program, once for each test process."""
import os
import shutil

from harness import run, temp, write

P256 = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")


def authority(name):
    if os.path.exists(temp(f"{name}.pem")):
        return
    run("openssl", "req", "-x509", *P256, "-keyout", temp(f"{name}-key.pem"),
        "-out", temp(f"{name}.pem"), "-days", "2", "-subj", f"/CN={name} (throw-away)",
        "-addext", "basicConstraints=critical,CA:TRUE",
        "-addext", "keyUsage=critical,keyCertSign,cRLSign", status=0)


def certificate(name, by="ca", subject=None, usage="serverAuth"):
    """NAME.pem and NAME-key.pem for localhost, 127.0.0.1 and ::1, signed by the authority `by`."""
    authority(by)
    if os.path.exists(temp(f"{name}.pem")):
        return
    run("openssl", "req", "-new", *P256, "-keyout", temp(f"{name}-key.pem"),
        "-out", temp(f"{name}.csr"), "-subj", subject or f"/CN={name}", status=0)
    extensions = write(temp(f"{name}.ext"), "basicConstraints=critical,CA:FALSE\n"
                       "keyUsage=critical,digitalSignature\n"
                       f"extendedKeyUsage={usage}\n"
                       "subjectAltName=DNS:localhost,IP:127.0.0.1,IP:::1\n")
    run("openssl", "x509", "-req", "-in", temp(f"{name}.csr"), "-CA", temp(f"{by}.pem"),
        "-CAkey", temp(f"{by}-key.pem"), "-days", "2", "-sha256", "-extfile", extensions,
        "-out", temp(f"{name}.pem"), status=0)


def install(source, target):
    """Replaces the pair `target` by the pair `source`: certificate first, each by a rename."""
    for suffix in (".pem", "-key.pem"):
        install_file(source + suffix, target + suffix)


def install_file(source, target):
    shutil.copy(temp(source), temp(target + ".new"))
    os.rename(temp(target + ".new"), temp(target))
